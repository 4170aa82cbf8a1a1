# Files that a command reads are never written over, whatever they are called; none is written twice; and what is no
# file is left alone.
source "$(dirname "$0")/../support/cli.sh"

run generate riverswim river.npz --quiet
run solve river.npz --out policy.csv --quiet
run convert river.npz river.tra --quiet
printf 'idstate,idaction,value\n' >scales.csv
for state in 0 1 2 3 4 5; do
    printf '%s,0,1\n%s,1,0.5\n' "$state" "$state"
done >>scales.csv
cp scales.csv radii.csv
cp scales.csv start.npz # no distribution, but the refusal comes first
ln -s river.npz link.npz
ln policy.csv hard.csv
mkdir folder
sha256sum ./*.npz ./*.csv ./*.tra ./*.trew >before.txt

# $1: what is to be written over; then the command.
expect_refused() {
    local file=$1
    shift
    run "$@" --json
    expect_status 2
    expect_err "$file is read, and would be written over"
    expect_out '"exit_code": 2'
    sha256sum --check --quiet before.txt || complain "a file changed"
}
expect_twice() {
    run "$@"
    expect_status 2
    expect_err "would be written twice"
}

evaluate=(evaluate river.npz --policy policy.csv --radius 0.1)
for option in kernel kernel-model; do
    expect_refused river.npz "${evaluate[@]}" --$option river.npz
    expect_refused ./river.npz "${evaluate[@]}" --$option ./river.npz
    expect_refused folder/../river.npz "${evaluate[@]}" --$option folder/../river.npz
    expect_refused link.npz "${evaluate[@]}" --$option link.npz
    expect_refused "$PWD/river.npz" "${evaluate[@]}" --$option "$PWD/river.npz"
done
expect_refused policy.csv "${evaluate[@]}" --witness policy.csv
expect_refused hard.csv "${evaluate[@]}" --policy uniform --difference --kernel hard.csv
expect_refused scales.csv "${evaluate[@]}" --scales scales.csv --witness scales.csv
expect_refused radii.csv evaluate river.npz --policy uniform --set sa --radius radii.csv --kernel radii.csv
expect_refused start.npz "${evaluate[@]}" --initial start.npz --kernel start.npz
expect_refused river.trew evaluate river.tra --rewards river.trew --policy uniform --radius 0.1 --witness river.trew
expect_refused policy.csv sweep river.npz --policy policy.csv --radius 0:0.1:2 --csv policy.csv
expect_refused scales.csv sweep river.npz --policy uniform --radius 0:0.1:2 --scales scales.csv --csv scales.csv
expect_refused policy.csv compare river.npz --policy policy.csv --radius 0.01 --time 0.1 --csv policy.csv
expect_refused scales.csv norm scales.csv --order random --csv scales.csv
expect_refused river.npz solve river.npz --out river.npz
expect_refused river.npz convert river.npz river.npz
expect_refused link.npz convert river.npz link.npz

expect_twice "${evaluate[@]}" --kernel new.npz --witness ./new.npz
expect_twice "${evaluate[@]}" --kernel new.npz --kernel-model folder/../new.npz
expect_twice "${evaluate[@]}" --witness new.png --explain-plot new.png
expect_twice compare river.npz --policy uniform --radius 0.01 --time 0.1 --csv new.svg --plot ./new.svg
expect_twice sweep river.npz --policy uniform --radius 0:0.1:2 --csv new.svg --plot new.svg
[[ ! -e new.npz && ! -e new.png && ! -e new.svg ]] || complain "something was written"

# The same name in another folder is another file, and what was written before may be written again.
for _ in 1 2; do
    run "${evaluate[@]}" --kernel folder/river.npz --witness folder/policy.csv
    expect_status 0
done

# A device or a pipe would be replaced by a file.
mkfifo pipe pipe.svg
run sweep river.npz --policy uniform --radius 0:0.1:2 --csv pipe
expect_status 6
expect_err "pipe: cannot write the file: something that is no regular file stands there"
run sweep river.npz --policy uniform --radius 0:0.1:2 --plot pipe.svg
expect_status 6
run sweep river.npz --policy uniform --radius 0:0.1:2 --csv folder
expect_err "folder: cannot write the file: a directory stands there"
[[ -p pipe && -p pipe.svg && -d folder ]] || complain "a pipe was replaced"

finish
