"""The script of each code point in Unicode 11.0, by ICU's numbers (UScriptCode).

Source: what UnicodeScript of TensorFlow 1.15.5 gives for each code point; the scripts are those of
unicode.org/Public/11.0.0/ucd/Scripts.txt.
"""

from __future__ import annotations

import base64
import zlib
from functools import lru_cache

import numpy as np

# Ranges of code points of one script: the distance of its begin from that of the range before it,
# seven bits a byte, and the script; 255: no code points.
_PACKED = (
    "c-nndYiu1?5k7PFd3UdO@80Wcd#@k&`Vrqav12=N5<AYrb|7tV<h)ArR27M)A96#RlC)|YwKbuwYc+10NNLiD=4tW*$t"
    "j^JmG}V?h#v?EBnp2JfB1=nDnR@~f^RoB0ab_}-_AL6X6DS9Gc#wE8jnlLCi-JhAz{UhO5!r{Q$tl_OIemy^>Q>Yl>`Q"
    "KN(E*h2~By)T!MOHlM@6v_YD#4-XhQFhBgM27(z<9!dke6W|##VzP6NTn+OQXYTD8j!V_PYXyFLQ9UTFrV?A_-p$C?%M"
    "6hQRdXMqy3g}lu$YU+gk5RY7$7)@q4HrcnQm@t9Nkfs+Udc2erVDLqqJd+F5E$fZGgIT6aLF?{7SrN9hR)I7oDDO_^&I"
    "tb)Z_R8bdLMxtlGK(gL5axy;2&%3#lJwh=fu<q<%=<koH5b#%DZ3K^W4PFbgM<DU)BOzh&AjQ?H!xs8^<5IaA{sa7oRF"
    "{5-r)jyr7_oz(9%Ns~E!BsEgd$IdLwPV1qJ=DJM;okdt(b&xLdyBdicj4rn}H{o>YbZl{~yF9pEZjsVOt`;d><Y|iZqL"
    "``is8Q5}q+^|~Yt)q(of55<C{tQhql|DV2VE*bw{w^FJdE}xQrc=~*0ejE^Jd!ZbS~{K>~@cQ1KI9%U@msIU`Z1-n<)K"
    "|@?1^at%<Q~GE&}u*6UK9ZnA28n`2s}e5Lv*q}m0uT1}}`nPXK)nN^J?Ete(R4ao{DLT8sN$(s2Y?QeznJf+XQe5s9lY"
    "P9`-tkI@FQX6k3Dlq&KZ2NI&o4zcav07VUR3?>C@!>3^yUQH-%Zo}Q(_4>hA31$IRG&t+@d@Zg4|alPt#mVssF|T_PUi"
    "dIG%ts>bPK$JGGu_4pMuFhkR57+9<tz%_QD+H_M<+GQQcTs%aU5Fr#C^STcM|Y*weH%9Y9Nn@r~PHZtR2c+}NfexSPyf"
    "!!UM*gz=35Hv=cToRKk}bK#1iMCu5JPej>-AsTkv9ayf!gMk&BL><Rl0+DqPvEmsWG_b=k3PE>`y0z}|0A=!4lQN1ykj"
    "h9<AWgau53aJJ)gDqm<|QRxMaj4hhN>VZ?FdyjyOt4aHa$_zL=^WZgPC;BLaclg)n#YJj8=c={ZL1%L0aRE!~ORWSDfR"
    "p9Ou82Vf`?i^%}u?@f(pzZ~Onit*Gr7j7pGbAF|Q!1SQ3LQC7s;BjP9{W?m~dG8L1!o{7Oj>3T-AVZYK1EJSNLB>w~*%"
    "UR8^R2Q-hxjgS!jpfT~X9L}A*sE?zbZ-?rH5Pq-O_1xE&%o$ei_EtNzV>~MdiT)Dy>L}W{1n5{j}38V9dkkPw)YRieRd"
    "0xh3!?guTZjGp6P=BjO3Y_Q&ZeWraYKax`lgA(BuTKVuD39VYXCW+l;2ytYeMvd|qG;4}%i3ZsH8D(zACQV;eul{qhTY"
    "kj*#3%n#!AiRdrvaM3inV+UEof>mIo3ar)w@4ujH@botk=|3|r$mua?y#`BllBK!i1QNJfb<)oQVZzi@*Rx4R(1xnio;"
    "<(7V@UgyX6TGO9eoJ)N=0W0PqDKNW+8+0Vvyzrx%*&9UVx6l6AXTmJ1hy63AQKsm%NPVSA8NlDNi$AUmrxs?B}!B)`d)"
    ")QO6tG$GTkI23ai|*lsoiSeDtbYG5U6awWb09(f7gS_=2l5d2Gm_hk1ctpD8&@OHa6Fa7kgpJ(asCD`3L=KMI{i{qL1D"
    "({xzzMH|oRr-5X!@6o6Xn}D+j+9^>5sW=vnQwwQUk^RMVuUF+LYWa(+6b#?gk?`^j(BiJSkiA)-l?GSQWfS)S!AAH1LJ"
    "w;6;|mh?#l&OFS{r5a88)Wo^Y^Z?^dkcwhDEGv(3Io_wRYQu5}sTk{@yQ$ueA*@hO<&Z3xHZ#R>Q?((&^#obx>Q3oNr2"
    "B4jRCkvTU7eJ;m_Ul0GoJmkY(j4$v?7I^3dy1c-$USM}RJqqhIb?3;N<Fh%(<e6g_<|xat%<<+$<}$SvHvTz24unMsO&"
    "FATTW;@%+@|T<8toS!g?o{H%k?$T*Spbi?aT15B^|X6g%4O8A9z@Er5XB42=ht~Kan4-$CGDvBYQ?Lqd%hhogwHut!Vx"
    "32xj$7_NAMBL;&w56XF)T$}PHhE5O!8y17U<7kgnWN^P8hyU6YCvbWvk{O*z(wc*_La8Lg*rq#n296WXSS;%2_@xwn8{"
    "J8kYqKn^@zw-+dpKd<+DPQ5UEYGtn)Uz6g-ehvUX~Uc3b1=yld6GL%^4*^-;Ewh20USQaQy%O`?qGzm3-Z38?ZRLC5nT"
    "A2h54^ENc}~Po$sGA@OpmsX;`ytsk2OvSyugQ(x?8=t^UEPR#g_+Mt1*5T&3Cl+r(6(XbiUCf+#*;?9Lg*1Bm)6%jFS5"
    "r)8;AYNjP5X_+PkIG)xodtq(flFs>;n#$ZS(%&YE3(05Y(Nh+}qg*^1;@93VSBE3$lrn(B7CsA4{hWK9%Ax1RB&-_@&J"
    "B&zw)zr&sWmO@W<n>wqwFckZz)5S^3z{b*o0Xd--q!9`7h$ZT4KYg*?M3vu^qumZCL4ei1P1fl{Dff87uag<o!yqguzY"
    "Tv4dROfDu)yPeNCh%JL#O4wRh)`7{15q>{`bb(~iAp_)E0Ox={nN>pvwmGbyh@P$hPZ=^x5(qbZGkPhIG3UJ1ce*Y_tp"
    "6KHW{OFH7OLVdiLG;l&TxyCgn)uV(y;N;ehcF}ZIeXPV{eS%%+odSQ"
)


def scripts_of(points: np.ndarray) -> np.ndarray:
    """The script of each code point, int32; -1 for numbers that are no code points."""
    begins, scripts = _ranges()
    places = np.searchsorted(begins, points, side="right") - 1
    return np.where(points < 0, np.int32(-1), scripts[np.maximum(places, 0)])


@lru_cache(maxsize=1)
def _ranges() -> tuple[np.ndarray, np.ndarray]:
    """Where each range begins, and its script."""
    packed = iter(zlib.decompress(base64.b85decode(_PACKED)))
    begins: list[int] = []
    scripts: list[int] = []
    for byte in packed:
        distance, bits = byte & 127, 7
        while byte & 128:
            byte = next(packed)
            distance |= (byte & 127) << bits
            bits += 7
        begins.append(distance + (begins[-1] if begins else 0))
        scripts.append(next(packed))
    numbers = np.array(scripts, np.int32)
    numbers[numbers == 255] = -1
    return np.array(begins, np.int64), numbers
