/*
 * offsupport_tail.h: the part L of an average that a perturbed kernel gives to states off the support of its
 * rows, on the device; see model/perturbed.h. A row gives last + slope (x_last - x) to the first `length` states
 * of an order: a segment. Extra states are entries of M.
 */
#ifndef NADIR_ENGINES_CUDA_OFFSUPPORT_TAIL_H
#define NADIR_ENGINES_CUDA_OFFSUPPORT_TAIL_H

#include "engine.h"

typedef struct cuda_tail {
    cuda_engine *engine;
    int64_t states, count; /* count: of segments of all states */
    int64_t most;          /* of a state */
    double *x;             /* [states] along the order */
    int32_t *order;        /* [states] */
    int64_t *starts;       /* [states + 1] of each state */
    int32_t *columns;      /* [count] length - 1 */
    double *last, *slope;  /* [count] with pi(a|s) */
    /* The same by columns, once it was asked for: columns are states, values are `last`; starts NULL: not
     * there. */
    cuda_rows transpose;
    double *transpose_slope;    /* [count] */
    int32_t *transpose_columns; /* [count] in `columns` of each */
    void *sums;                 /* [states] of vectors or pairs of them, work space */
    void *totals;               /* of pieces likewise */
    cuda_pool memory;           /* of all but the transpose and what belongs to it */
    cuda_pool transpose_memory;
} cuda_tail;

/* The tails of all rows, as kernels see them. */
typedef struct cuda_tail_rows {
    const double *omega, *slope, *amount; /* [rows] */
    const int32_t *length, *extra;        /* [rows] */
    const double *x;                      /* [states] */
    const int32_t *ranks;                 /* [states] in the order */
    const double *sorted;                 /* [states] x along the order */
} cuda_tail_rows;

typedef struct cuda_tail_segment {
    int32_t length;
    double last, slope, x_last;
} cuda_tail_segment;

/* No product is fused with a sum: who found `last` to be 0 or more is right. */
static __device__ inline cuda_tail_segment cuda_tail_of_row(const cuda_tail_rows *tails, int64_t row)
{
    const int32_t length = tails->length[row];
    if (length == 0) {
        return {0, 0, 0, 0};
    }
    const double slope = tails->slope[row];
    const double x_last = tails->sorted[length - 1];
    return {length, __dsub_rn(tails->omega[row], __dmul_rn(slope, x_last)), slope, x_last};
}

/* What a segment has at a state: zero where it does not reach. */
static __device__ inline double cuda_tail_value(const cuda_tail_rows *tails, const cuda_tail_segment *segment,
                                                int32_t state)
{
    return tails->ranks[state] < segment->length
               ? __dadd_rn(segment->last,
                           __dmul_rn(segment->slope, __dsub_rn(segment->x_last, tails->x[state])))
               : 0;
}

/* tail_average.cu: the tail of a policy; weights: [rows] on the device. ranks: [states], filled for `tails`,
 * which holds as long as they and the perturbed kernel do. */
nadir_status cuda_tail_make(const cuda_rows *rows, nadir_context *context, const cuda_perturbed *perturbed,
                            const double *weights, int32_t *ranks, cuda_tail_rows *tails, cuda_tail **made);
/* The norm of M + L, and what is known of L. */
nadir_status cuda_tail_measure(cuda_tail *tail, nadir_context *context, const cuda_rows *rows,
                               const cuda_tail_rows *tails, const double *weights, nadir_device_facts *facts);
nadir_status cuda_tail_transpose(cuda_tail *tail, nadir_context *context);
void cuda_tail_free(cuda_tail *tail);

/* tail_products.cu: makes the work space of products, for tail->count segments. */
nadir_status cuda_tail_make_room(cuda_tail *tail, nadir_context *context);
/* y += scale L x, or L^T x; on the device. */
nadir_status cuda_tail_add(cuda_tail *tail, nadir_context *context, bool transposed, double scale,
                           const double *x, double *y);
nadir_status cuda_tail_add(cuda_tail *tail, nadir_context *context, bool transposed, double scale,
                           const double2 *x, double2 *y);
double cuda_tail_roundings(const void *matrix, bool transposed);

#endif
