import './style/tokens.css';
import './style/frame.css';
import './trace/trace.css';
import './histograms/cards.css';
import './hparams/hparams.css';
import { render } from 'preact';
import { follow } from './api/live.ts';
import { Shell } from './shell/shell.tsx';
import { renew } from './state/catalogue.ts';

void renew();
follow();
render(<Shell />, document.getElementById('board')!);
