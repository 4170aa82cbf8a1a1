/* kernel_internal.h: the parts of a kernel. For this folder alone. */
#ifndef NADIR_MODEL_KERNEL_INTERNAL_H
#define NADIR_MODEL_KERNEL_INTERNAL_H

#include "linalg/vector.h"
#include "model/kernel.h"
#include "model/perturbed.h"

/* A state's value and its position in the order of a perturbed kernel; side by side, as both are read. */
typedef struct nadir_state_position {
    double x;
    int64_t place;
} nadir_state_position;

typedef enum nadir_kernel_kind {
    NADIR_KERNEL_NOMINAL,  /* the rows of the model */
    NADIR_KERNEL_RANK_ONE, /* nominal - b k^T */
    NADIR_KERNEL_ROWS,     /* some rows replaced */
    NADIR_KERNEL_PERTURBED /* numbers of its own on the support of the model, and maybe a tail off it */
} nadir_kernel_kind;

struct nadir_kernel {
    nadir_memory *memory;
    nadir_model *model;
    nadir_kernel_kind kind; /* the fields of other kinds are zero */
    /* NADIR_KERNEL_RANK_ONE */
    double *b; /* [rows] */
    double *k; /* [states] and ghosts */
    /* NADIR_KERNEL_ROWS */
    int64_t changed;
    int64_t *starts;  /* [changed + 1] */
    int32_t *columns; /* [starts[changed]] */
    double *values;   /* [starts[changed]] */
    int64_t *place;   /* [rows] index among the replaced rows; -1: the row is nominal */
    /* NADIR_KERNEL_PERTURBED */
    nadir_perturbed perturbed;
    const struct nadir_device *values_device;
    void
        *device_values; /* its numbers on a device (core/device.h), until somebody may write to it; or NULL */
    bool away;          /* they are there alone; see nadir_kernel_device_fetch */
    /* With a tail; its arrays may change between any two calls. */
    nadir_sorted_states sorted;      /* as of the last nadir_perturbed_update */
    nadir_state_position *positions; /* [states] likewise */
    nadir_prefix_sum *sums;          /* [states] for work; NULL: no tail */
};

/* Whether the stored rows are those of the model. */
static inline bool nadir_kernel_stores_nominal(const nadir_kernel *kernel)
{
    return kernel->kind == NADIR_KERNEL_NOMINAL || kernel->kind == NADIR_KERNEL_RANK_ONE;
}

static inline bool nadir_kernel_has_tail(const nadir_kernel *kernel)
{
    return kernel->sums != NULL;
}

/* The explicit part of a row: all but -b(s, a) k and the tail of a perturbed kernel. */
nadir_row nadir_kernel_row(const nadir_kernel *kernel, int64_t row);

/* Whether the model's row has an entry for this state, O(log entries); columns are not NULL. */
static inline bool nadir_row_has(const nadir_row *row, int64_t state)
{
    const int64_t i = nadir_find_column(row->count, row->columns, state);
    return i < row->count && row->columns[i] == state;
}

/* Perturbed kernels with a tail (perturbed.c). */

/* Brings kernel->along and kernel->spots up to date. Everything below relies on it. */
void nadir_perturbed_update(const nadir_kernel *kernel);

/* The tail of a row, which holds where the row has no entry: last + slope (x_last - x[t]) for the states
 * whose place in the order is below `length`. Written so, nothing cancels. */
typedef struct nadir_row_tail {
    int64_t length;
    double last; /* omega - slope x_last */
    double slope;
    double x_last;
} nadir_row_tail;

nadir_row_tail nadir_perturbed_row_tail(const nadir_kernel *kernel, int64_t row);

static inline double nadir_row_tail_value(const nadir_row_tail *line, double x)
{
    return line->last + line->slope * (line->x_last - x);
}

/* What the line has at a state: zero where it does not reach. Which it is cannot be foreseen, and compilers
 * make a branch of anything but a look at a table. */
static inline double nadir_row_tail_at_state(const nadir_row_tail *line, nadir_state_position position)
{
    static const double reached[2] = {0, 1};
    return nadir_row_tail_value(line, position.x) * reached[position.place < line->length];
}

/* Of a row: its product with a vector; its smallest entry. */
double nadir_perturbed_product(const nadir_kernel *kernel, const nadir_kernel_vector *vector, int64_t row);
double nadir_perturbed_minimum(const nadir_kernel *kernel, int64_t row);

/* What a row adds up to. kernel->sums are those of a vector of ones. */
typedef struct nadir_row_size {
    double sum;      /* of the entries */
    double largest;  /* of their sizes; more than that only where some are negative */
    double terms;    /* of the sizes of all terms of a product */
    double rounding; /* of each of these, and of a product with numbers up to one */
} nadir_row_size;

nadir_row_size nadir_perturbed_measure(const nadir_kernel *kernel, int64_t row);

#endif
