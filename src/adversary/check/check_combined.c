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
 * - theta x of W d, W D^T K and X. Their norms are those of combinations of the columns of a frame, which
 * lose no digits to each other. Of a combination with factors f of vectors of norms F, known to `off`, a
 * product with another is
 *
 *     known to u f' F' f F + f' F' f off + f' off' (f F + f off),   f F = sum of |f_i| F_i.
 */
#include "adversary/check/check_combined.h"

#include "linalg/low_rank_basis.h"

#include <float.h>
#include <math.h>

#define UNIT (DBL_EPSILON / 2)

/* More than what underflow takes from a product of vectors that are not too short. */
#define UNDERFLOW 1e-300

typedef nadir_combined_size sized;

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
    double theta;
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
        fabs(at->strength) -
        (at->strength_off + of->pair.W_off * of->right.sizes[0].size * (1 + at->x_off)) * (1 + 8 * UNIT);
    const double loss = fabs(at->loss) - at->loss_off * (1 + 8 * UNIT);
    const double off =
        (at->x_off + at->y_off + at->x_off * at->y_off + reach * at->feedback_off) * (1 + 8 * UNIT) +
        8 * UNIT * (1 + reach * fabs(at->feedback));
    const double denominator = 1 + reach * at->feedback;
    if (!(at->strength * at->loss > 0 && strength > 0 && loss > 0 && denominator - off > 0)) {
        return -1;
    }
    return reach * strength / (denominator + off) * loss * (1 - 16 * UNIT);
}

/* At least the norm of a combination of a stack, from the same of its frame: [rank]. */
static double norm_of(const nadir_combined *of, const nadir_combined_stack *stack, const double *factors,
                      const double *combined)
{
    const int N = 2 * of->size + 2;
    const sized size = weigh(N, factors, stack->framed);
    double square = 0;
    for (int i = 0; i < stack->rank; i++) {
        square += combined[i] * combined[i];
    }
    /* the factors are rounded, and so is every sum */
    return stack->stretch * (sqrt(square + UNDERFLOW) + size.off + (N + 8) * UNIT * size.size) *
           (1 + (N + 8) * UNIT);
}

/* theta, and E x - theta y and E^T y - theta x in terms of the stacks: [N] each. */
static void write_residuals(const nadir_combined *of, kernel *at, double *left, double *right)
{
    const int m = of->size;
    const double gamma = of->pair.problem->gamma;
    at->theta = gamma * (at->loss * at->strength - at->lambda * at->feedback);
    left[0] = gamma * at->strength;
    right[0] = gamma * at->loss;
    for (int j = 0; j < m; j++) {
        left[1 + j] = -gamma * at->lambda * at->s[j];
        right[2 + m + j] = -at->theta * at->s[j];
    }
    for (int j = 0; j <= m; j++) {
        left[1 + m + j] = -at->theta * at->t[j];
        right[1 + j] = -gamma * at->lambda * at->t[j];
    }
}

/* At least sigma_max(E_lambda), as isolate of check_spectral.c has it, from the norms of the residuals but
 * for the errors of strength and loss in them. */
static double isolate(const nadir_combined *of, const kernel *at, double left, double right)
{
    const double gamma = of->pair.problem->gamma;
    const double theta = at->theta;
    const double lambda = at->lambda;
    const sized v = of->left.sizes[0];
    const sized Wd = of->right.sizes[0];
    const double unit_off = 2 * (at->x_off + at->y_off);
    const double theta_off = gamma *
                                 (fabs(at->strength) * at->loss_off + fabs(at->loss) * at->strength_off +
                                  at->strength_off * at->loss_off + lambda * at->feedback_off +
                                  8 * UNIT * (fabs(at->loss * at->strength) + lambda * fabs(at->feedback))) *
                                 (1 + unit_off) +
                             unit_off * fabs(theta);
    left += gamma * at->strength_off * (v.size + v.off);
    right += gamma * at->loss_off * (Wd.size + Wd.off);
    const double rho_square = (left * left + right * right) / 2 * (1 + 3 * unit_off + 16 * UNIT);
    const double second = lambda / of->pair.breakdown_low * (1 + of->pair.W_off) * (1 + 4 * UNIT);
    const double distance = (theta - theta_off - second) - 4 * UNIT * (fabs(theta) + second);
    return distance > 0 ? (theta + theta_off + rho_square / distance) * (1 + 8 * UNIT) : INFINITY;
}

/* lambda_high of all kernels that are usable. */
static nadir_status bound_above(nadir_context *context, const nadir_combined *of, int64_t count,
                                kernel *kernels, nadir_combined_answer *answers)
{
    nadir_status status = NADIR_OK;
    const int N = 2 * of->size + 2;
    nadir_spectral_pair pair = of->pair;
    double *left = NULL;
    NADIR_NEW(context, left, 4 * N * count);
    double *right = left + N * count;
    double *left_combined = right + N * count;
    double *right_combined = left_combined + N * count;
    for (int64_t i = 0; i < count; i++) {
        write_residuals(of, &kernels[i], left + i * N, right + i * N);
    }
    nadir_low_rank_basis_combine(context, N, count, N, N, of->left.frame, left, left_combined);
    nadir_low_rank_basis_combine(context, N, count, N, N, of->right.frame, right, right_combined);
    for (int64_t i = 0; i < count; i++) {
        const kernel *at = &kernels[i];
        pair.beta = at->beta;
        pair.rest = 1 - at->beta / pair.breakdown_low - 4 * UNIT;
        pair.lambda = at->lambda;
        if (answers[i].usable && pair.rest > 0) {
            const double sigma = isolate(of, at, norm_of(of, &of->left, left + i * N, left_combined + i * N),
                                         norm_of(of, &of->right, right + i * N, right_combined + i * N));
            answers[i].lambda_high = nadir_spectral_pair_bound(&pair, sigma);
        }
    }
cleanup:
    nadir_release(context, left);
    return status;
}

nadir_status nadir_combined_check(nadir_context *context, const nadir_combined *of, int64_t count,
                                  const double *radii, double *S, double *T, nadir_combined_answer *answers)
{
    nadir_status status = NADIR_OK;
    const int m = of->size;
    kernel *kernels = NULL;
    NADIR_NEW(context, kernels, count);
    for (int64_t i = 0; i < count; i++) {
        answers[i] = (nadir_combined_answer){.lambda_high = INFINITY};
        if (of->usable) {
            kernels[i] = measure(of, radii[i], S + i * m, T + i * (m + 1));
            answers[i].lambda = kernels[i].lambda;
            answers[i].lambda_low = bound_below(of, &kernels[i]);
            answers[i].usable = answers[i].lambda_low > 0 && isfinite(kernels[i].lambda);
        }
    }
    if (of->usable && of->bounded) {
        NADIR_CHECK(bound_above(context, of, count, kernels, answers));
    }
cleanup:
    nadir_release(context, kernels);
    return status;
}
