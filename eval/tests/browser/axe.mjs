// Downloads axe-core, which finds what makes a page hard to use with a screen reader or a keyboard, and checks its pinned
// hash.
//
//     node axe.mjs FOLDER
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGE = 'axe-core@4.14.1';
const SHA512 = 'FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==';

const folder = process.argv[2];
mkdirSync(folder, { recursive: true });
const quiet = { stdio: ['ignore', 'pipe', 'inherit'] };
const [{ filename }] = JSON.parse(execFileSync('npm', ['pack', PACKAGE, '--json', '--pack-destination', folder], quiet));
const archive = join(folder, filename);
if (createHash('sha512').update(readFileSync(archive)).digest('base64') !== SHA512) throw new Error(`${PACKAGE} is not what was pinned`);
execFileSync('tar', ['-xzf', archive, '-C', folder, '--strip-components=1', 'package/axe.min.js'], quiet);
