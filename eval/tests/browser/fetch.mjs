// Downloads the Chromium in the npm package @sparticuz/chromium, checks its pinned hash, and unpacks it.
//
//     node fetch.mjs FOLDER
//
// The package contains the program and its libraries, compressed with brotli, which Node can decompress. The package's own
// code is not run: it unpacks only on Amazon's machines.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';

const PACKAGE = '@sparticuz/chromium@153.0.0';
const SHA512 = 'jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==';

const folder = process.argv[2];
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const quiet = { stdio: ['ignore', 'pipe', 'inherit'] };
const [{ filename }] = JSON.parse(execFileSync('npm', ['pack', PACKAGE, '--json', '--pack-destination', folder], quiet));
const archive = join(folder, filename);
if (createHash('sha512').update(readFileSync(archive)).digest('base64') !== SHA512) throw new Error(`${PACKAGE} is not what was pinned`);
const tar = (file) => execFileSync('tar', ['-xf', file, '-C', folder], quiet);
tar(archive);
const expand = (name, mode, to) =>
  pipeline(createReadStream(join(folder, 'package/bin', name)), createBrotliDecompress(), createWriteStream(to, { mode }));
await expand('chromium.br', 0o755, join(folder, 'chromium'));
for (const name of ['al2023', 'swiftshader', 'fonts']) {
  const file = join(folder, `${name}.tar`);
  await expand(`${name}.tar.br`, 0o644, file);
  tar(file);
  rmSync(file);
}
// The package's own list of fonts names folders of Amazon's machines; without any font this browser dies.
writeFileSync(join(folder, 'fonts.conf'), `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<dir>${folder}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>${folder}/fonts-cache</cachedir></fontconfig>\n`);
rmSync(archive);
rmSync(join(folder, 'package'), { recursive: true });
