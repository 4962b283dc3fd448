import './style/tokens.css';
import './style/frame.css';
import './trace/trace.css';
import './controls/card_controls.css';
import './media/media.css';
import './text/text.css';
import './pr_curves/pr_curves.css';
import './tensors/tensors.css';
import './custom/custom.css';
import './hparams/hparams.css';
import './problems/problems.css';
import './projector/projector.css';
import { render } from 'preact';
import { follow, leads } from './api/live.ts';
import './notes/run_notes.tsx';
import './problems/run_problems.tsx';
import { Shell } from './shell/shell.tsx';
import { expose } from './shell/test_hook.ts';
import { renew } from './state/catalogue.ts';
import { serverBoot } from './state/server.ts';

expose('leads', () => leads.value);
expose('boot', () => serverBoot.value);

void renew();
follow();
render(<Shell />, document.getElementById('board')!);
