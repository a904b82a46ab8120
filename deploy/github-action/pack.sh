#!/usr/bin/env bash
# Packs the programs for a platform, with completions, manual pages, README and licences, and writes the hash to a file.
#
#   pack.sh PROGRAMS PLATFORM OUT          for example target/dist x86_64-linux dist
#
# PROGRAMS is the folder with chunkmill and chunkmill-eval. Run it from the project's folder.
set -euo pipefail
programs=${1:?} platform=${2:?} out=${3:?}
version=$("$programs/chunkmill" --version | cut -d ' ' -f 2)
name=chunkmill-$version-$platform
folder=$out/$name
mkdir -p "$folder/completions" "$folder/man"
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$folder"
# Writes the manual page of a command and those of the subcommands that it lists: `chunkmill\-model\-pull(1)`.
pages() {
  local program=$1 page below
  shift
  page=$(IFS=-; echo "$program${*:+-$*}")
  "$programs/$program" man "$@" > "$folder/man/$page.1"
  while read -r below; do
    below=${below#"$page-"}
    [[ $below == help ]] || pages "$program" "$@" "$below"
  done < <(sed -n 's/\\-/-/g; s/^\([a-z-]*\)(1)$/\1/p' "$folder/man/$page.1")
}

for program in chunkmill chunkmill-eval; do
  cp "$programs/$program" "$folder"
  for shell in bash zsh fish powershell elvish; do
    "$programs/$program" completions "$shell" > "$folder/completions/$program.$shell"
  done
  pages "$program"
done
tar --create --gzip --directory "$out" --file "$out/$name.tar.gz" "$name"
rm -r "$folder"
(cd "$out" && shasum --algorithm 256 "$name.tar.gz" > "$name.tar.gz.sha256")
