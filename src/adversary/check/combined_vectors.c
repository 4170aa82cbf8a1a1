/*
 * combined_vectors.c: the vectors that many kernels are combinations of, and what is known of them; see
 * check_combined.h.
 *
 * Products with D carry their errors (enclosure.h), and centring and products with W their roundings. Both
 * stacks are Q T for a nearly orthonormal Q (span.h), so that a combination is as long as that of the columns
 * of T, but for the stretch of Q and for what is missing of T.
 */
#include "adversary/check/check_combined.h"

#include "linalg/blocks.h"
#include "linalg/distributed.h"
#include "linalg/low_rank_basis.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

/* Products of shorter or longer vectors might lose digits. */
#define NORM_LEAST 1e-140

/* What is left of vectors that are combinations of others; sqrt(states) units where that is more, since
 * products of long vectors are rounded more often. */
#define SPAN_TOLERANCE (32 * UNIT)

static void clear_stack(nadir_context *context, nadir_combined_stack *stack)
{
    nadir_release(context, stack->vectors);
    nadir_release(context, stack->products);
    nadir_release(context, stack->sizes);
    nadir_release(context, stack->frame);
    nadir_release(context, stack->framed);
}

void nadir_combined_clear(nadir_context *context, nadir_combined *made)
{
    clear_stack(context, &made->left);
    clear_stack(context, &made->right);
    *made = (nadir_combined){0};
}

static nadir_status make_stack(nadir_context *context, int64_t n, int N, nadir_combined_stack *stack)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(context, stack->vectors, n * N);
    NADIR_NEW(context, stack->products, N * N);
    NADIR_NEW_ZERO(context, stack->sizes, N);
    NADIR_NEW(context, stack->frame, N * N);
    NADIR_NEW_ZERO(context, stack->framed, N);
cleanup:
    return status;
}

/* x <- x - mean; returns what the entries are off by at most. */
static double subtract_mean(const nadir_context *context, int64_t n, double *x)
{
    const double rounding = 8 * UNIT * nadir_global_largest(context, n, x);
    const double mean = nadir_global_sum(context, n, x) / (double)n;
    for (int64_t s = 0; s < n; s++) {
        x[s] -= mean;
    }
    return rounding;
}

/* Phi D W X, and what it is known to. b: [states * m] for work. */
static nadir_status fill_products(nadir_context *context, const nadir_combined_basis *basis,
                                  nadir_solve_error *enclosed, double *b, nadir_combined *made)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = made->pair.problem;
    const int64_t n = problem->states;
    const double *W = problem->uncertainty->W;
    double *g = made->left.vectors + n;
    for (int j = 0; j < basis->size; j++) {
        for (int64_t s = 0; s < n; s++) {
            b[j * n + s] = W[s] * basis->X[j * n + s];
        }
        enclosed[j].b_error = (made->pair.W_off + 2 * UNIT) * nadir_global_largest(context, n, b + j * n);
    }
    NADIR_CHECK(nadir_enclosure_solve_apart(context, problem, &made->pair.known, false, basis->size, b,
                                            basis->DWX, g, enclosed));
    for (int j = 0; j < basis->size; j++) {
        const double rounding = subtract_mean(context, n, g + j * n) * sqrt((double)n);
        made->left.sizes[1 + j].off =
            (rounding + nadir_spectral_pair_spread(&made->pair, enclosed[j].residual)) * (1 + 4 * UNIT);
    }
cleanup:
    return status;
}

/* Phi K. sums: [m + 1], at least the sums of its columns, which would be zero without rounding. */
static void fill_directions(const nadir_context *context, const nadir_combined_basis *basis, double *sums,
                            nadir_combined *made)
{
    const int64_t n = made->pair.problem->states;
    const double length = (double)n;
    const double lost = 2 * length * UNIT * length * UNIT * sqrt(length); /* by a compensated sum of size 1 */
    double *K = made->left.vectors + (1 + basis->size) * n;
    memcpy(K, basis->K, (size_t)(n * (basis->size + 1)) * sizeof *K);
    for (int j = 0; j <= basis->size; j++) {
        /* roundings of the difference are roundings of a kernel, not of its check */
        (void)subtract_mean(context, n, K + j * n);
        sums[j] = fabs(nadir_global_sum(context, n, K + j * n)) * (1 + 2 * UNIT) +
                  lost * nadir_up_norm_2(context, n, K + j * n);
        made->left.sizes[1 + basis->size + j].off = sums[j] / sqrt(length) * (1 + 4 * UNIT);
    }
}

/* W D^T Phi K. b: [states * (m + 1)] for work; sums: as above. */
static nadir_status fill_transposed(nadir_context *context, const nadir_combined_basis *basis,
                                    const double *sums, nadir_solve_error *enclosed, double *b,
                                    nadir_combined *made)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = made->pair.problem;
    const int64_t n = problem->states;
    const double *W = problem->uncertainty->W;
    const int count = basis->size + 1;
    double *h = made->right.vectors + n;
    memcpy(b, made->left.vectors + count * n, (size_t)(count * n) * sizeof *b);
    for (int j = 0; j < count; j++) {
        enclosed[j].b_error = 0;
    }
    NADIR_CHECK(nadir_enclosure_solve_apart(context, problem, &made->pair.known, true, count, b, basis->DtK,
                                            h, enclosed));
    for (int j = 0; j < count; j++) {
        for (int64_t s = 0; s < n; s++) {
            h[j * n + s] *= W[s];
        }
        /* D^T Phi k is D^T k up to the sum over gap */
        made->right.sizes[1 + j].off =
            made->pair.W_largest *
            (enclosed[j].error + nadir_verified_solve_error(&made->pair.known, sums[j]) +
             2 * UNIT * enclosed[j].largest) *
            (1 + 8 * UNIT);
    }
cleanup:
    return status;
}

/* Products of the columns first .. first + count - 1 with those from `later` on, up to themselves. */
static void multiply(int64_t n, int N, int first, int count, int later, nadir_combined_stack *stack)
{
    for (int i = first; i < first + count; i++) {
        for (int j = i > later ? i : later; j < N; j++) {
            double ignored; /* less than the rounding of the norms */
            const double product =
                nadir_vector_dot(n, stack->vectors + i * n, stack->vectors + j * n, &ignored);
            stack->products[i * N + j] = product;
            stack->products[j * N + i] = product;
        }
    }
}

/* The norms of a stack; whether they are of a size that products keep. */
static bool measure_stack(int64_t n, int N, double rounding, nadir_combined_stack *stack)
{
    bool fine = true;
    for (int i = 0; i < N; i++) {
        double ignored;
        const double square = nadir_vector_dot(n, stack->vectors + i * n, stack->vectors + i * n, &ignored);
        stack->sizes[i].size = sqrt(square) * (1 + 2 * rounding);
        fine = fine && stack->sizes[i].size < 1 / NORM_LEAST && stack->sizes[i].off < 1 / NORM_LEAST;
    }
    return fine && stack->sizes[0].size > NORM_LEAST;
}

/* |Q|_2^2 <= the largest sum of a row of |Q^T Q|. */
static double stretch_of(int64_t n, int rank, const double *Q)
{
    double most = 0;
    for (int i = 0; i < rank; i++) {
        double sum = 0;
        for (int j = 0; j < rank; j++) {
            sum += fabs(nadir_block_dot(Q + i * n, Q + j * n, 0, n));
        }
        most = fmax(most, sum);
    }
    return sqrt(most + 2 * rank * ((double)n + rank + 4) * UNIT) * (1 + 4 * UNIT);
}

/* Vectors that are no longer than the columns may be. */
static void frame_short(int64_t n, int N, nadir_combined_stack *stack)
{
    memset(stack->frame, 0, (size_t)(N * N) * sizeof *stack->frame);
    for (int j = 0; j < N; j++) {
        memcpy(stack->frame + j * N, stack->vectors + j * n, (size_t)n * sizeof *stack->frame);
        stack->framed[j] = stack->sizes[j];
    }
    stack->rank = (int)n;
    stack->stretch = 1;
}

/* The stack in terms of nearly orthonormal vectors. */
static nadir_status make_frame(nadir_context *context, int64_t n, int N, nadir_combined_stack *stack)
{
    nadir_status status = NADIR_OK;
    double *rest = NULL;
    double *Q = NULL;
    double *sizes = NULL;
    if (n <= N) {
        frame_short(n, N, stack);
        return NADIR_OK;
    }
    NADIR_NEW(context, rest, n * N);
    NADIR_NEW(context, Q, n * N);
    NADIR_NEW(context, sizes, N);
    memcpy(rest, stack->vectors, (size_t)(n * N) * sizeof *rest);
    memset(stack->frame, 0, (size_t)(N * N) * sizeof *stack->frame);
    const double tolerance = fmax(SPAN_TOLERANCE, UNIT * sqrt((double)n));
    stack->rank = nadir_low_rank_basis_split(context, n, N, N, tolerance, rest, Q, stack->frame, sizes);
    if (stack->rank < 0) {
        stack->stretch = INFINITY;
        goto cleanup;
    }
    stack->stretch = stretch_of(n, stack->rank, Q);
    for (int j = 0; j < N; j++) {
        const double missing = nadir_up_norm_2(context, n, rest + j * n);
        double columns = missing; /* and the norms of the columns, each at most that of Q */
        for (int i = 0; i < stack->rank; i++) {
            columns += stack->stretch * fabs(stack->frame[j * N + i]);
        }
        stack->framed[j] = (nadir_combined_size){
            columns * (1 + N * UNIT),
            (stack->sizes[j].off + missing + nadir_low_rank_basis_rounding(stack->rank) * columns) *
                (1 + 2 * N * UNIT)};
    }
cleanup:
    nadir_release(context, rest);
    nadir_release(context, Q);
    nadir_release(context, sizes);
    return status;
}

nadir_status nadir_combined_make(nadir_context *context, const nadir_problem *problem, bool bounded,
                                 const nadir_combined_basis *basis, double breakdown_low,
                                 nadir_combined *made)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const int m = basis->size;
    const int N = 2 * m + 2;
    nadir_solve_error *enclosed = NULL;
    double *work = NULL;
    *made = (nadir_combined){.size = m,
                             .bounded = bounded,
                             .rounding = UNIT * (2 * N + 16 + UNIT * (double)n * (double)n) * 1.01,
                             .pair = {.problem = problem,
                                      .known = nadir_verified_solver_make(context, problem),
                                      .breakdown_low = breakdown_low}};
    NADIR_NEW(context, enclosed, m + 1);
    NADIR_NEW(context, work, (n + 1) * (m + 1));
    NADIR_CHECK(make_stack(context, n, N, &made->left));
    NADIR_CHECK(make_stack(context, n, N, &made->right));
    double *sums = work + n * (m + 1);
    nadir_spectral_pair_begin(context, &made->pair, made->left.vectors, made->right.vectors);
    made->left.sizes[0].off = made->pair.v_off;
    made->right.sizes[0].off =
        (made->pair.W_largest * problem->d_error + 2 * UNIT * made->pair.Wd_size) * (1 + 4 * UNIT);
    NADIR_CHECK(fill_products(context, basis, enclosed, work, made));
    fill_directions(context, basis, sums, made);
    memcpy(made->right.vectors + (m + 2) * n, basis->X, (size_t)(n * m) * sizeof *basis->X);
    if (bounded) {
        NADIR_CHECK(fill_transposed(context, basis, sums, enclosed, work, made));
    } else {
        memset(made->right.vectors + n, 0, (size_t)(n * (m + 1)) * sizeof *made->right.vectors);
    }
    multiply(n, N, 0, N, m + 1, &made->left);  /* with K */
    multiply(n, N, 0, 1, m + 2, &made->right); /* with X */
    multiply(n, N, m + 2, m, m + 2, &made->right);
    made->usable = measure_stack(n, N, made->rounding, &made->left);
    made->usable = measure_stack(n, N, made->rounding, &made->right) && made->usable;
    if (bounded && made->usable) {
        NADIR_CHECK(make_frame(context, n, N, &made->left));
        NADIR_CHECK(make_frame(context, n, N, &made->right));
        made->bounded = made->left.rank >= 0 && made->right.rank >= 0;
    }
cleanup:
    nadir_release(context, enclosed);
    nadir_release(context, work);
    if (status != NADIR_OK) {
        nadir_combined_clear(context, made);
    }
    return status;
}
