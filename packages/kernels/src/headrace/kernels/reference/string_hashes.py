"""64-bit hashes of byte strings, the same numbers in every version and on every machine.

`fingerprint64` is FarmHash's Fingerprint64, `hash64` a Murmur hash, `siphash24` is SipHash-2-4.
Sources: the FarmHash paper's reference (Pike, 2014), Aumasson and Bernstein 2012.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFFFFFFFFFF
_K0 = 0xC3A5C85C97CB3127
_K1 = 0xB492B66FBE98F273
_K2 = 0x9AE16A3B2F90404F


def _at(data: bytes, place: int, size: int = 8) -> int:
    return int.from_bytes(data[place : place + size], "little")


def _rotate(x: int, by: int) -> int:
    return x if by == 0 else ((x >> by) | (x << (64 - by))) & _MASK


def _mix(x: int) -> int:
    return x ^ (x >> 47)


def _pair(u: int, v: int, mul: int) -> int:
    a = _mix((u ^ v) * mul & _MASK)
    b = _mix((v ^ a) * mul & _MASK)
    return b * mul & _MASK


def _short(s: bytes) -> int:
    n = len(s)
    if n >= 8:
        mul = _K2 + n * 2
        a, b = _at(s, 0) + _K2 & _MASK, _at(s, n - 8)
        c = _rotate(b, 37) * mul + a & _MASK
        d = (_rotate(a, 25) + b) * mul & _MASK
        return _pair(c, d, mul)
    if n >= 4:
        mul = _K2 + n * 2
        return _pair(n + (_at(s, 0, 4) << 3), _at(s, n - 4, 4), mul)
    if n > 0:
        y = s[0] + (s[n >> 1] << 8)
        z = n + (s[n - 1] << 2)
        return _mix(y * _K2 & _MASK ^ z * _K0 & _MASK) * _K2 & _MASK
    return _K2


def _to_32(s: bytes) -> int:
    n = len(s)
    mul = _K2 + n * 2
    a, b = _at(s, 0) * _K1 & _MASK, _at(s, 8)
    c, d = _at(s, n - 8) * mul & _MASK, _at(s, n - 16) * _K2 & _MASK
    first = _rotate(a + b & _MASK, 43) + _rotate(c, 30) + d & _MASK
    return _pair(first, a + _rotate(b + _K2 & _MASK, 18) + c & _MASK, mul)


def _to_64(s: bytes) -> int:
    n = len(s)
    mul = _K2 + n * 2
    a, b = _at(s, 0) * _K2 & _MASK, _at(s, 8)
    c, d = _at(s, n - 8) * mul & _MASK, _at(s, n - 16) * _K2 & _MASK
    y = _rotate(a + b & _MASK, 43) + _rotate(c, 30) + d & _MASK
    z = _pair(y, a + _rotate(b + _K2 & _MASK, 18) + c & _MASK, mul)
    e, f = _at(s, 16) * mul & _MASK, _at(s, 24)
    g, h = (y + _at(s, n - 32)) * mul & _MASK, (z + _at(s, n - 24)) * mul & _MASK
    first = _rotate(e + f & _MASK, 43) + _rotate(g, 30) + h & _MASK
    return _pair(first, e + _rotate(f + a & _MASK, 18) + g & _MASK, mul)


def _weak_32(s: bytes, place: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_at(s, place + 8 * i) for i in range(4))
    a = a + w & _MASK
    b = _rotate(b + a + z & _MASK, 21)
    c = a
    a = a + x + y & _MASK
    b = b + _rotate(a, 44) & _MASK
    return a + z & _MASK, b + c & _MASK


def fingerprint64(s: bytes) -> int:
    """FarmHash's Fingerprint64, as an unsigned number."""
    n = len(s)
    if n <= 16:
        return _short(s)
    if n <= 32:
        return _to_32(s)
    if n <= 64:
        return _to_64(s)
    x, y = 81, 81 * _K1 + 113 & _MASK
    z = _mix(y * _K2 + 113 & _MASK) * _K2 & _MASK
    v, w = (0, 0), (0, 0)
    x = x * _K2 + _at(s, 0) & _MASK
    end = (n - 1) // 64 * 64
    last = end + ((n - 1) & 63) - 63
    for place in range(0, end, 64):
        x = _rotate(x + y + v[0] + _at(s, place + 8) & _MASK, 37) * _K1 & _MASK
        y = _rotate(y + v[1] + _at(s, place + 48) & _MASK, 42) * _K1 & _MASK
        x ^= w[1]
        y = y + v[0] + _at(s, place + 40) & _MASK
        z = _rotate(z + w[0] & _MASK, 33) * _K1 & _MASK
        v = _weak_32(s, place, v[1] * _K1 & _MASK, x + w[0] & _MASK)
        w = _weak_32(s, place + 32, z + w[1] & _MASK, y + _at(s, place + 16) & _MASK)
        z, x = x, z
    mul = _K1 + ((z & 0xFF) << 1) & _MASK
    place = last
    w = (w[0] + ((n - 1) & 63) & _MASK, w[1])
    v = (v[0] + w[0] & _MASK, v[1])
    w = (w[0] + v[0] & _MASK, w[1])
    x = _rotate(x + y + v[0] + _at(s, place + 8) & _MASK, 37) * mul & _MASK
    y = _rotate(y + v[1] + _at(s, place + 48) & _MASK, 42) * mul & _MASK
    x ^= w[1] * 9 & _MASK
    y = y + v[0] * 9 + _at(s, place + 40) & _MASK
    z = _rotate(z + w[0] & _MASK, 33) * mul & _MASK
    v = _weak_32(s, place, v[1] * mul & _MASK, x + w[0] & _MASK)
    w = _weak_32(s, place + 32, z + w[1] & _MASK, y + _at(s, place + 16) & _MASK)
    z, x = x, z
    left = _pair(v[0], w[0], mul) + _mix(y) * _K0 + z & _MASK
    return _pair(left, _pair(v[1], w[1], mul) + x & _MASK, mul)


def fingerprint_cat64(first: int, second: int) -> int:
    """One fingerprint of two."""
    mul = 0xC6A4A7935BD1E995
    result = first ^ mul
    result ^= _mix(second * mul & _MASK) * mul & _MASK
    result = result * mul & _MASK
    return _mix(_mix(result) * mul & _MASK)


def hash64(s: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """MurmurHash64A."""
    mul = 0xC6A4A7935BD1E995
    h = seed ^ (len(s) * mul & _MASK)
    whole = len(s) // 8 * 8
    for place in range(0, whole, 8):
        k = _at(s, place) * mul & _MASK
        h = (h ^ ((k ^ (k >> 47)) * mul & _MASK)) * mul & _MASK
    if len(s) > whole:
        h = (h ^ _at(s, whole)) * mul & _MASK
    h = (h ^ (h >> 47)) * mul & _MASK
    return h ^ (h >> 47)


def siphash24(key: tuple[int, int], s: bytes) -> int:
    """SipHash with two rounds a word and four at the end."""
    k0, k1 = (k & _MASK for k in key)
    v = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0] = v[0] + v[1] & _MASK
            v[2] = v[2] + v[3] & _MASK
            v[1] = _rotate(v[1], 51) ^ v[0]
            v[3] = _rotate(v[3], 48) ^ v[2]
            v[0] = _rotate(v[0], 32)
            v[2] = v[2] + v[1] & _MASK
            v[0] = v[0] + v[3] & _MASK
            v[1] = _rotate(v[1], 47) ^ v[2]
            v[3] = _rotate(v[3], 43) ^ v[0]
            v[2] = _rotate(v[2], 32)

    whole = len(s) // 8 * 8
    words = [_at(s, place) for place in range(0, whole, 8)]
    words.append(_at(s, whole) | (len(s) & 0xFF) << 56)
    for word in words:
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
