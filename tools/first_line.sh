# What demos wait for.

# Waits until a program has written its first line to file $1, and prints that.
first_line() {
    for _ in {1..300}; do
        if [[ -s $1 ]]; then
            head -1 "$1"
            return
        fi
        sleep 0.1
    done
    echo "demo: nothing in $1 after 30 seconds" >&2
    return 1
}
