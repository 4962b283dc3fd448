import './style/tokens.css';
import './style/frame.css';
import './trace/trace.css';
import './histograms/cards.css';
import './hparams/hparams.css';
import './problems/problems.css';
import './projector/projector.css';
import { render } from 'preact';
import { follow } from './api/live.ts';
import './notes/run_notes.tsx';
import { Shell } from './shell/shell.tsx';
import { renew } from './state/catalogue.ts';

void renew();
follow();
render(<Shell />, document.getElementById('board')!);
