/*
 * check_combined.c: many kernels that are combinations of a few vectors, checked by their coefficients; see
 * check_combined.h, and check_spectral.c for the bound.
 *
 * With unit x and y, strength = d . W x, loss = y . v and feedback = y . g, g = Phi D W x, the penalty of the
 * kernel is
 *
 *     lambda = gamma beta strength loss / (1 + gamma beta feedback),
 *
 * and the residuals of the pair are combinations too: E x - theta y of Phi v, Phi D W X and Phi K, and E^T y
 * - theta x of W d, W D^T K and X. Their squares are forms of the products of those with each other, off by
 * some roundings of theta^2, which is what the bound sigma_max <= theta + rho^2 / (theta - s) is off by as
 * well. Of a combination with factors f of vectors of norms F, known to `off`, a product with another is
 *
 *     known to u f' F' f F + f' F' f off + f' off' (f F + f off),   f F = sum of |f_i| F_i.
 */
#include "adversary/check/check_combined.h"

#include "adversary/check/state_shape.h"
#include "adversary/free/dual.h"
#include "kernel/rank_one.h"
#include "linalg/distributed.h"
#include "linalg/span.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

/* Products of shorter or longer vectors might lose digits. */
#define NORM_LEAST 1e-140

/* More than what underflow takes from a product of vectors whose norms are above that. */
#define UNDERFLOW 1e-300

/* Numbers of kernels that are written out at a time. */
#define NUMBERS_LIMIT 4000000

typedef nadir_combined_size sized;

/* ---------------------------------------------------------------------------------------------------------
 * The vectors
 */

static void clear_stack(nadir_context *context, nadir_combined_stack *stack)
{
    nadir_release(context, stack->vectors);
    nadir_release(context, stack->products);
    nadir_release(context, stack->sizes);
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
cleanup:
    return status;
}

/* x <- x - mean; returns what the entries are off by at most. */
static double subtract_mean(const nadir_context *context, int64_t n, double *x)
{
    const double rounding = 8 * UNIT * nadir_whole_largest(context, n, x);
    const double mean = nadir_whole_sum(context, n, x) / (double)n;
    for (int64_t s = 0; s < n; s++) {
        x[s] -= mean;
    }
    return rounding;
}

/* Phi D W X, and what it is known to. b: [states * m] for work. */
static nadir_status fill_products(nadir_context *context, const nadir_combined_basis *basis,
                                  nadir_enclosed *enclosed, double *b, nadir_combined *made)
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
        enclosed[j].b_error = (made->pair.W_off + 2 * UNIT) * nadir_whole_largest(context, n, b + j * n);
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
        sums[j] = fabs(nadir_whole_sum(context, n, K + j * n)) * (1 + 2 * UNIT) +
                  lost * nadir_up_norm_2(context, n, K + j * n);
        made->left.sizes[1 + basis->size + j].off = sums[j] / sqrt(length) * (1 + 4 * UNIT);
    }
}

/* W D^T Phi K. b: [states * (m + 1)] for work; sums: as above. */
static nadir_status fill_transposed(nadir_context *context, const nadir_combined_basis *basis,
                                    const double *sums, nadir_enclosed *enclosed, double *b,
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
            (enclosed[j].error + nadir_enclosure_error(&made->pair.known, sums[j]) +
             2 * UNIT * enclosed[j].largest) *
            (1 + 8 * UNIT);
    }
cleanup:
    return status;
}

/* All products of a stack, and the norms that follow. Whether they are of a size that products keep. */
static bool multiply(int64_t n, int N, double rounding, nadir_combined_stack *stack)
{
    bool fine = true;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++) {
            double ignored; /* less than `rounding` of the norms */
            const double product =
                nadir_vector_dot(n, stack->vectors + i * n, stack->vectors + j * n, &ignored);
            stack->products[i * N + j] = product;
            stack->products[j * N + i] = product;
        }
        stack->sizes[i].size = sqrt(stack->products[i * N + i]) * (1 + 2 * rounding);
        fine = fine && stack->sizes[i].size < 1 / NORM_LEAST && stack->sizes[i].off < 1 / NORM_LEAST;
    }
    return fine && stack->sizes[0].size > NORM_LEAST;
}

nadir_status nadir_combined_make(nadir_context *context, const nadir_problem *problem, bool bounded,
                                 const nadir_combined_basis *basis, double breakdown_low,
                                 nadir_combined *made)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const int m = basis->size;
    const int N = 2 * m + 2;
    nadir_enclosed *enclosed = NULL;
    double *work = NULL;
    *made = (nadir_combined){.size = m,
                             .bounded = bounded,
                             .rounding = UNIT * (2 * N + 16 + UNIT * (double)n * (double)n) * 1.01,
                             .pair = {.problem = problem,
                                      .known = nadir_enclosure_make(context, problem),
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
    made->usable = multiply(n, N, made->rounding, &made->left);
    made->usable = multiply(n, N, made->rounding, &made->right) && made->usable;
cleanup:
    nadir_release(context, enclosed);
    nadir_release(context, work);
    if (status != NADIR_OK) {
        nadir_combined_clear(context, made);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------------------
 * One kernel
 */

/* Sums of |factor| size and of |factor| off, rounded up. */
static sized weigh(int count, const double *factors, const sized *sizes)
{
    sized sum = {0};
    for (int i = 0; i < count; i++) {
        const double factor = fabs(factors[i]);
        sum.size += factor * sizes[i].size;
        sum.off += factor * sizes[i].off;
    }
    const double up = 1 + (count + 4) * UNIT;
    return (sized){sum.size * up, sum.off * up};
}

/* f^T G g for the part of products that begins at `G`, N numbers from one row to the next. */
static double form(const double *G, int N, int rows, const double *f, int columns, const double *g)
{
    double sum = 0;
    for (int i = 0; i < rows; i++) {
        double row = 0;
        for (int j = 0; j < columns; j++) {
            row += G[i * N + j] * g[j];
        }
        sum += f[i] * row;
    }
    return sum;
}

/* f^T G f, G of N columns and symmetric. */
static double square_form(const double *G, int N, int count, const double *f)
{
    double squares = 0;
    double others = 0;
    for (int i = 0; i < count; i++) {
        double row = 0;
        for (int j = 0; j < i; j++) {
            row += G[i * N + j] * f[j];
        }
        squares += f[i] * f[i] * G[i * N + i];
        others += f[i] * row;
    }
    return squares + 2 * others;
}

/* Of the product of two combinations. */
static double product_error(const nadir_combined *of, sized a, sized b)
{
    return (of->rounding * a.size * b.size + a.size * b.off + a.off * (b.size + b.off)) * (1 + 8 * UNIT) +
           UNDERFLOW;
}

static void scale(int count, double factor, double *x)
{
    for (int i = 0; i < count; i++) {
        x[i] *= factor;
    }
}

/* A kernel by its coefficients, with what is made of them; names as in nadir_spectral_pair. */
typedef struct kernel {
    double beta;
    const double *s, *t;
    double x_off, y_off; /* | |x| - 1 |, | |y| - 1 | */
    double strength, strength_off;
    double loss, loss_off;
    double feedback, feedback_off;
    double lambda;
} kernel;

/* s and t brought to norm one, and the numbers of the kernel. */
static kernel measure(const nadir_combined *of, double beta, double *s, double *t)
{
    const int m = of->size;
    const int N = 2 * m + 2;
    const double gamma = of->pair.problem->gamma;
    const double *X = of->right.products + (m + 2) * N + m + 2; /* X^T X */
    const double *K = of->left.products + (m + 1) * N + m + 1;
    scale(m, 1 / sqrt(square_form(X, N, m, s)), s);
    scale(m + 1, 1 / sqrt(square_form(K, N, m + 1, t)), t);
    const sized x = weigh(m, s, of->right.sizes + m + 2);
    const sized y = weigh(m + 1, t, of->left.sizes + m + 1);
    const sized g = weigh(m, s, of->left.sizes + 1);
    const double one = 1;
    kernel made = {
        .beta = beta,
        .s = s,
        .t = t,
        .x_off = (of->rounding * x.size * x.size + 8 * UNIT) * (1 + 8 * UNIT),
        .y_off = (of->rounding * y.size * y.size + 8 * UNIT + y.off) * (1 + 8 * UNIT),
        .strength = form(of->right.products + m + 2, N, 1, &one, m, s),
        .strength_off = product_error(of, of->right.sizes[0], x),
        .loss = form(of->left.products + m + 1, N, 1, &one, m + 1, t),
        .loss_off = product_error(of, of->left.sizes[0], y),
        .feedback = form(of->left.products + (m + 1) * N + 1, N, m + 1, t, m, s),
        .feedback_off = product_error(of, y, g),
    };
    made.lambda = gamma * beta * made.strength / (1 + gamma * beta * made.feedback) * made.loss;
    return made;
}

/*
 * At most the penalty of the kernel, whose W is not rounded: gamma beta strength loss / (|x| |y| + gamma beta
 * feedback). Negative: nothing can be said.
 */
static double bound_below(const nadir_combined *of, const kernel *at)
{
    const double reach = of->pair.problem->gamma * at->beta;
    const double strength =
        at->strength -
        (at->strength_off + of->pair.W_off * of->right.sizes[0].size * (1 + at->x_off)) * (1 + 8 * UNIT);
    const double loss = at->loss - at->loss_off * (1 + 8 * UNIT);
    const double off =
        (at->x_off + at->y_off + at->x_off * at->y_off + reach * at->feedback_off) * (1 + 8 * UNIT) +
        8 * UNIT * (1 + reach * fabs(at->feedback));
    const double denominator = 1 + reach * at->feedback;
    if (!(strength > 0 && loss > 0 && denominator - off > 0)) {
        return -1;
    }
    return reach * strength / (denominator + off) * loss * (1 - 16 * UNIT);
}

/* At least the norm of a combination of a stack: what it is by the products, and what those may miss. */
static double norm_of(const nadir_combined *of, const nadir_combined_stack *stack, const double *factors)
{
    const int N = 2 * of->size + 2;
    const sized size = weigh(N, factors, stack->sizes);
    const double square = square_form(stack->products, N, N, factors);
    if (!isfinite(square)) {
        return INFINITY;
    }
    const double most = fmax(square, 0) + of->rounding * size.size * size.size + UNDERFLOW;
    /* the factors are rounded themselves */
    return (sqrt(most) + size.off + 8 * UNIT * size.size) * (1 + 8 * UNIT);
}

/* At least sigma_max(E_lambda), as isolate of check_spectral.c has it. factors: [N] for work. */
static double isolate(const nadir_combined *of, const kernel *at, double *factors)
{
    const int m = of->size;
    const double gamma = of->pair.problem->gamma;
    const double lambda = at->lambda;
    const sized v = of->left.sizes[0];
    const sized Wd = of->right.sizes[0];
    const double theta = gamma * (at->loss * at->strength - lambda * at->feedback);
    const double unit_off = 2 * (at->x_off + at->y_off);
    const double theta_off = gamma *
                                 (fabs(at->strength) * at->loss_off + fabs(at->loss) * at->strength_off +
                                  at->strength_off * at->loss_off + lambda * at->feedback_off +
                                  8 * UNIT * (fabs(at->loss * at->strength) + lambda * fabs(at->feedback))) *
                                 (1 + unit_off) +
                             unit_off * fabs(theta);
    factors[0] = gamma * at->strength;
    for (int j = 0; j < m; j++) {
        factors[1 + j] = -gamma * lambda * at->s[j];
    }
    for (int j = 0; j <= m; j++) {
        factors[1 + m + j] = -theta * at->t[j];
    }
    const double left = norm_of(of, &of->left, factors) + gamma * at->strength_off * (v.size + v.off);
    factors[0] = gamma * at->loss;
    for (int j = 0; j <= m; j++) {
        factors[1 + j] = -gamma * lambda * at->t[j];
    }
    for (int j = 0; j < m; j++) {
        factors[2 + m + j] = -theta * at->s[j];
    }
    const double right = norm_of(of, &of->right, factors) + gamma * at->loss_off * (Wd.size + Wd.off);
    const double rho_square = (left * left + right * right) / 2 * (1 + 3 * unit_off + 16 * UNIT);
    const double second = lambda / of->pair.breakdown_low * (1 + of->pair.W_off) * (1 + 4 * UNIT);
    const double distance = (theta - theta_off - second) - 4 * UNIT * (fabs(theta) + second);
    return distance > 0 ? (theta + theta_off + rho_square / distance) * (1 + 8 * UNIT) : INFINITY;
}

nadir_combined_answer nadir_combined_check(const nadir_combined *of, double beta, double *s, double *t,
                                           double *work)
{
    nadir_combined_answer answer = {.lambda_high = INFINITY};
    const double rest = 1 - beta / of->pair.breakdown_low - 4 * UNIT;
    if (!of->usable) {
        return answer;
    }
    const kernel at = measure(of, beta, s, t);
    answer.lambda = at.lambda;
    answer.lambda_low = bound_below(of, &at);
    answer.usable = answer.lambda_low > 0 && isfinite(at.lambda);
    if (answer.usable && of->bounded && rest > 0) {
        nadir_spectral_pair pair = of->pair;
        pair.beta = beta;
        pair.rest = rest;
        pair.lambda = at.lambda;
        answer.lambda_high = nadir_spectral_pair_bound(&pair, isolate(of, &at, work));
    }
    return answer;
}

/* ---------------------------------------------------------------------------------------------------------
 * Smallest entries
 */

/* What the kernels are written out into. */
typedef struct writing {
    const nadir_combined *of;
    bool by_states;          /* X stands for c / W, rows are not written */
    double *X;               /* [states * m] */
    double *c;               /* [states * block] */
    double *k;               /* [states * block] */
    double *b;               /* [rows] */
    nadir_state_shape shape; /* by_states */
    nadir_rank_one_search search;
} writing;

static void clear_writing(nadir_context *context, writing *at)
{
    nadir_release(context, at->X);
    nadir_release(context, at->c);
    nadir_release(context, at->k);
    nadir_release(context, at->b);
    nadir_state_shape_clear(context, &at->shape);
    nadir_rank_one_clear(context, &at->search);
}

static nadir_status begin_writing(nadir_context *context, const nadir_combined *of, int64_t count,
                                  int64_t block, writing *at)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = of->pair.problem;
    const int64_t n = problem->states;
    const double *W = problem->uncertainty->W;
    const double *X = of->right.vectors + (of->size + 2) * n;
    at->of = of;
    at->by_states = nadir_state_shape_fits(problem);
    NADIR_NEW(context, at->X, n * of->size);
    NADIR_NEW(context, at->c, n * block);
    NADIR_NEW(context, at->k, n * block);
    NADIR_NEW(context, at->b, problem->rows);
    NADIR_CHECK(nadir_rank_one_begin(context, problem->model, count, &at->search));
    if (at->by_states) {
        NADIR_CHECK(nadir_state_shape_make(context, problem, &at->shape));
    }
    for (int64_t s = 0; s < n; s++) {
        const double factor = !at->by_states ? 1 : W[s] > 0 ? 1 / W[s] : 0;
        for (int j = 0; j < of->size; j++) {
            at->X[j * n + s] = factor * X[j * n + s];
        }
    }
cleanup:
    return status;
}

static nadir_status find_minimum(nadir_context *context, writing *at, int64_t i, double *minimum)
{
    const nadir_problem *problem = at->of->pair.problem;
    const double *c = at->c + i * problem->states;
    const double *k = at->k + i * problem->states;
    if (at->by_states) {
        nadir_rank_one_minimum_of_states(context, &at->search, c, problem->policy->probabilities,
                                         at->shape.top, at->b, k, minimum);
        return NADIR_OK;
    }
    nadir_dual_expand(problem, c, at->b);
    return nadir_rank_one_minimum(context, &at->search, at->b, k, minimum);
}

nadir_status nadir_combined_minima(nadir_context *context, const nadir_combined *of, int64_t count,
                                   const double *S, const double *T, double *minima)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->pair.problem->states;
    const int m = of->size;
    const int64_t most = NUMBERS_LIMIT / (2 * n) > 1 ? NUMBERS_LIMIT / (2 * n) : 1;
    const int64_t block = most < count ? most : count;
    writing at = {0};
    NADIR_CHECK(begin_writing(context, of, count, block, &at));
    for (int64_t first = 0; first < count; first += block) {
        const int64_t many = count - first < block ? count - first : block;
        NADIR_CHECK(nadir_progress(context, "looking for smallest entries", (double)first / (double)count));
        nadir_span_combine(context, n, many, m, m, at.X, S + first * m, at.c);
        nadir_span_combine(context, n, many, m + 1, m + 1, of->left.vectors + (m + 1) * n,
                           T + first * (m + 1), at.k);
        for (int64_t i = 0; i < many; i++) {
            NADIR_CHECK(find_minimum(context, &at, i, &minima[first + i]));
        }
    }
cleanup:
    clear_writing(context, &at);
    return status;
}
