# nadir norm: orders, bounds, JSON, wrong files.
source "$(dirname "$0")/../support/cli.sh"

# array FILE SHAPE BYTES: a .npy file of bytes with a sign, given as printf has them.
array() {
    local header="{'descr': '|i1', 'fortran_order': False, 'shape': $2, }"
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header" >"$1"
    # shellcheck disable=SC2059
    printf "$3" >>"$1"
}

# Columns (3, 4) and (-3, -4): the best x is a vertex. Columns (1, 0), (0, 1): all are alike.
array opposite.npy "(2, 2)" '\x03\xfd\x04\xfc'
array row.npy "(1, 3)" '\x02\xff\x02'
for order in 0 1 2 3 paper power; do
    run norm opposite.npy --order $order --bounds --json
    expect_status 0
    expect_no_err
    expect_number value 5
    expect_json order "\"$order\""
    expect_json n 2
    expect_json support 1
    # of rank one: the parts of its only eigenvector, of length sqrt(8) and 1
    run norm row.npy --order $order --json
    expect_number value 2.82842712475
    expect_json dual_bound null
    expect_json rows 1
    expect_json n 3
done
for key in value upper_bound gap zero_order_bound first_order_bound iterations seconds seconds_bounds warnings; do
    expect_out "\"$key\": "
done
run norm row.npy --json
expect_json order '"power"'
expect_number zero_order_bound 3

run norm row.npy --bounds
expect_status 0
expect_no_err
expect_out "row.npy: 1 rows, 3 columns, order power"
expect_out "  value          2.828427124746190"
expect_out "  dual           2.8284"
expect_out "  support        2 of 3 entries"

# Whatever the limit, what was reached is a bound.
run norm row.npy --bounds --iterations 0 --tolerance 1e-3 --json
expect_status 0
expect_json iterations 0

# Brute force: as many points as asked for, the same ones each time, and what was known when.
run norm row.npy --order random --samples 2000 --seed 3 --csv trajectory.csv --json
expect_status 0
expect_no_err
expect_json order '"random"'
expect_json samples 2000
value=$(number value)
awk "BEGIN { exit !($value > 2.7 && $value < 2.8284272) }" || complain "random points find $value of 2.828427"
[[ $(head -n 1 trajectory.csv) == seconds,samples,value ]] || complain "the head of the file"
awk -F, 'NR > 2 && ($1 < time || $3 <= value) { bad = 1 } { time = $1; value = $3 } END { exit bad || NR < 2 }' \
    trajectory.csv || complain "a trajectory falls"
[[ $(tail -n 1 trajectory.csv) == *,"${value:0:10}"* ]] || complain "the trajectory does not end at $value"
run norm row.npy --order random --samples 2000 --seed 3 --threads 1
expect_out "  samples        2000"
[[ $out == *"value          ${value:0:11}"* ]] || complain "other points"
run norm row.npy --order random --samples 1000000000000 --time 0.05 --json
expect_status 0
run norm row.npy --order slsqp --tolerance 1e-12 --csv steps.csv --json
expect_status 0
expect_json order '"slsqp"'
expect_number value 2.82842712475
[[ $(head -n 1 steps.csv) == seconds,samples,value ]] || complain "the head of the file"
expect_failure 2 "--csv is for --order random and slsqp" norm row.npy --csv trajectory.csv
expect_failure 2 "0 samples" norm row.npy --order random --samples 0
expect_failure 6 "cannot write" norm row.npy --order random --csv none/there.csv

# Wrong usage, wrong files.
expect_failure 2 "expected MATRIX.npy" norm
expect_failure 2 "--order: '4' given, expected power|0|1|2|3|paper|random|slsqp" norm row.npy --order 4
expect_failure 2 "the tolerance is 0" norm row.npy --tolerance 0
expect_failure 3 "none.npy: cannot open the file" norm none.npy
array list.npy "(3,)" '\x02\xff\x02'
expect_failure 3 "the array has shape (3,); expected a matrix" norm list.npy
array short.npy "(2, 3)" '\x02\xff\x02'
expect_failure 3 "short.npy" norm short.npy
printf 'a,b\n1,2\n' >table.csv
expect_failure 3 "table.csv: this is no NumPy array" norm table.csv
printf '\x93NUMPY\x01\x00' >stump.npy
expect_failure 3 "stump.npy" norm stump.npy
run norm list.npy --json
expect_json exit_code 3
finish
