/* explicit.c: the rows of a kernel of any kind, entry by entry; see explicit.h. */
#include "kernel/explicit.h"

#include "kernel/parts.h"

#include <string.h>

/* Of a row that is stored as it is. */
static int64_t copy_stored(const nadir_row *row, int32_t *columns, double *values)
{
    int64_t count = 0;
    for (int64_t i = 0; i < row->count; i++) {
        if (row->values[i] != 0) {
            columns[count] = (int32_t)nadir_row_column(row, i);
            values[count++] = row->values[i];
        }
    }
    return count;
}

/* Of values that stand at their columns; in place, since no entry moves up. */
static int64_t gather(int64_t states, int32_t *columns, double *values)
{
    int64_t count = 0;
    for (int64_t t = 0; t < states; t++) {
        if (values[t] != 0) {
            columns[count] = (int32_t)t;
            values[count++] = values[t];
        }
    }
    return count;
}

int64_t nadir_kernel_row_explicit(const nadir_kernel *kernel, int64_t row, int32_t *columns, double *values)
{
    const int64_t states = kernel->model->states;
    const nadir_row part = nadir_kernel_row(kernel, row);
    if (kernel->b == NULL || kernel->b[row] == 0) {
        return copy_stored(&part, columns, values);
    }
    memset(values, 0, (size_t)states * sizeof *values);
    for (int64_t i = 0; i < part.count; i++) {
        values[nadir_row_column(&part, i)] = part.values[i];
    }
    for (int64_t t = 0; t < states; t++) {
        values[t] -= kernel->b[row] * kernel->k[t];
    }
    return gather(states, columns, values);
}
