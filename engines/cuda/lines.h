/*
 * lines.h: the part L of an average that a perturbed kernel with a tail gives to states without an entry, on
 * the device; see kernel/offsupport_tail.h. Extra states are entries of M here. For this folder alone.
 */
#ifndef NADIR_ENGINES_CUDA_LINES_H
#define NADIR_ENGINES_CUDA_LINES_H

#include "parts.h"

typedef struct cuda_lines {
    cuda_engine *engine;
    int64_t states, count; /* count: of lines of all states */
    int64_t most;          /* of a state */
    double *x;             /* [states] along the order */
    int32_t *order;        /* [states] */
    int64_t *starts;       /* [states + 1] of each state */
    int32_t *columns;      /* [count] length - 1 */
    double *last, *slope;  /* [count] with pi(a|s) */
    /* The same by columns, once it was asked for: columns are states, values are `last`; starts NULL: not
     * there. */
    cuda_rows turned;
    double *turned_slope;    /* [count] */
    int32_t *turned_columns; /* [count] in `columns` of each */
    void *sums;              /* [states] of vectors or pairs of them, work space */
    void *totals;            /* [pieces] likewise */
    double bytes;            /* of all but `turned` and what belongs to it */
} cuda_lines;

/* The perturbed kernel that is averaged, as kernels see it. */
typedef struct cuda_tilt {
    const double *omega, *slope, *amount; /* [rows] */
    const int32_t *length, *extra;        /* [rows] */
    const double *x;                      /* [states] */
    const int32_t *places;                /* [states] in the order */
    const double *along;                  /* [states] x along the order */
} cuda_tilt;

/* Of a row: last + slope (x_last - x) for the first `length` states of the order. */
typedef struct cuda_line {
    int32_t length;
    double last, slope, x_last;
} cuda_line;

/* No product is fused with a sum: who found `last` to be 0 or more is right. */
static __device__ inline cuda_line cuda_line_of(const cuda_tilt *of, int64_t row)
{
    const int32_t length = of->length[row];
    if (length == 0) {
        return {0, 0, 0, 0};
    }
    const double slope = of->slope[row];
    const double x_last = of->along[length - 1];
    return {length, __dsub_rn(of->omega[row], __dmul_rn(slope, x_last)), slope, x_last};
}

/* What the line has at a state: zero where it does not reach. */
static __device__ inline double cuda_line_under(const cuda_tilt *of, const cuda_line *line, int32_t state)
{
    return of->places[state] < line->length
               ? __dadd_rn(line->last, __dmul_rn(line->slope, __dsub_rn(line->x_last, of->x[state])))
               : 0;
}

/* lines_make.cu: the lines of a policy; weights: [rows] on the device. places: [states], filled for `spread`,
 * which holds as long as they and the numbers do. */
nadir_status cuda_lines_make(const cuda_rows *rows, nadir_context *context, const cuda_numbers *numbers,
                             const double *weights, int32_t *places, cuda_tilt *spread, cuda_lines **made);
/* The norm of M + L, and what is known of L. */
nadir_status cuda_lines_measure(cuda_lines *lines, nadir_context *context, const cuda_rows *rows,
                                const cuda_tilt *spread, const double *weights, nadir_device_facts *facts);
/* By columns. */
nadir_status cuda_lines_turn(cuda_lines *lines, nadir_context *context);
void cuda_lines_clear(cuda_lines *lines);

/* lines.cu: bytes of `totals` for so many numbers along an order. */
double cuda_lines_room(int64_t count);
/* y += scale L x, or L^T x; on the device. */
nadir_status cuda_lines_add(cuda_lines *lines, nadir_context *context, bool transposed, double scale,
                            const double *x, double *y);
nadir_status cuda_lines_add_pair(cuda_lines *lines, nadir_context *context, bool transposed, double scale,
                                 const double2 *x, double2 *y);
/* moments[i] <- sum over j <= i of x_i - x_j; moments: [states]. */
nadir_status cuda_lines_moments(const cuda_lines *lines, nadir_context *context, double *moments);

#endif
