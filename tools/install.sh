#!/bin/bash
# Installs perk, perk-fleet, which lies beside it, manual pages and completions:
#
#   tools/install.sh PERK FOLDER
#
# PERK is the program; FOLDER is where bin and share are, such as /usr/local.
set -euo pipefail

perk=$1
# As a shell does, where make has it as PREFIX=~/.local.
prefix=${2/#\~\//$HOME/}
share=$prefix/share

if ! mkdir -p "$prefix/bin" 2>/dev/null || [[ ! -w $prefix/bin ]]; then
    echo "install: $prefix/bin cannot be written to: use sudo make install, or make install PREFIX=~/.local" >&2
    exit 1
fi
install -m 755 "$perk" "$prefix/bin/perk"
install -m 755 "$(dirname "$perk")/perk-fleet" "$prefix/bin/perk-fleet"
mkdir -p "$share"/{man/man1,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
"$perk" man --folder "$share/man/man1"
"$perk" completions bash >"$share/bash-completion/completions/perk"
"$perk" completions zsh >"$share/zsh/site-functions/_perk"
"$perk" completions fish >"$share/fish/vendor_completions.d/perk.fish"
echo "installed $prefix/bin/perk and perk-fleet, manual pages and completions below $share"
