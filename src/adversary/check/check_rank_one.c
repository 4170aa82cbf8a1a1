/*
 * check_rank_one.c: a kernel Phat - b k^T measured, and its return enclosed; see check_rank_one.h.
 *
 * v_P is made by Sherman-Morrison, but not believed: with r = R^pi - (I - gamma P^pi) v_P, rounding included,
 *
 *     J_P = mu . v_P + mu . D_P r,    D_P r = D r - gamma v_b (k . D r) / (1 + gamma k . v_b),
 *
 * and |D r| <= |r| / (1 - gamma |Phat^pi|) in the maximum norm, so
 *
 *     |J_P - mu . v_P| <= |r| / (1 - gamma |Phat^pi|) (|mu|_1 + gamma |mu . v_b| |k|_1 / (1 + gamma k . v_b))
 *
 * which asks for nothing of the sign of P's entries: only Phat is taken to be stochastic.
 */
#include "adversary/check/check_rank_one.h"

#include "adversary/enclosure.h"
#include "kernel/rank_one.h"
#include "linalg/norm.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>

#define UNIT (DBL_EPSILON / 2)

/* A p-norm as nadir_norm_p has it is off by less than this, relatively. */
#define NORM_ROUNDING (64 * UNIT)

/* Rounding may put a kernel this far outside its ball, relatively. */
#define EXCESS_LIMIT 1e-10

/* A kernel with more entries is not written out to be factored. */
#define ENTRIES_LIMIT ((int64_t)1 << 24)

typedef struct measured {
    const nadir_problem *problem;
    nadir_enclosure known;
    const double *k;        /* [states] */
    double k_size;          /* |k|_1 */
    double mu_size;         /* |mu|_1 */
    const double *b;        /* [rows] */
    double *b_pi;           /* [states] */
    double b_size;          /* at least max_s of sum_a pi |b| */
    double *v_b;            /* [states] D b^pi */
    nadir_enclosed v_b_off; /* how well it is known */
    double denominator;     /* 1 + gamma k . v_b */
    double denominator_low; /* at most that */
    double *v;              /* [states] under the kernel */
    double amplification;   /* |mu . D_P r| <= this times |r| */
    double *work;           /* [rows] */
    double *zeros;          /* b and k of the nominal kernel */
} measured;

static void clear(nadir_context *context, measured *at)
{
    nadir_release(context, at->b_pi);
    nadir_release(context, at->v_b);
    nadir_release(context, at->v);
    nadir_release(context, at->work);
    nadir_release(context, at->zeros);
}

static nadir_status begin(nadir_context *context, const nadir_problem *problem, const nadir_kernel *kernel,
                          measured *at)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    *at = (measured){.problem = problem, .known = nadir_enclosure_make(problem)};
    if (!nadir_kernel_rank_one(kernel, &at->b, &at->k)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the kernel is not of the form Phat - b k^T");
    }
    if (at->b == NULL) { /* nominal */
        NADIR_NEW_ZERO(context, at->zeros, problem->rows + n);
        at->b = at->zeros;
        at->k = at->zeros + problem->rows;
    }
    NADIR_NEW(context, at->b_pi, n);
    NADIR_NEW(context, at->v_b, n);
    NADIR_NEW(context, at->v, n);
    NADIR_NEW(context, at->work, problem->rows);
    for (int64_t s = 0; s < n; s++) {
        double size = 0;
        at->b_pi[s] = 0;
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            at->b_pi[s] += problem->policy->probabilities[row] * at->b[row];
            size += problem->policy->probabilities[row] * fabs(at->b[row]);
        }
        at->b_size = size > at->b_size ? size : at->b_size;
    }
    at->b_size *= 1 + at->known.averaging;
    at->k_size = nadir_up_norm_1(n, at->k);
    at->mu_size = nadir_up_norm_1(n, problem->mu);
cleanup:
    return status;
}

/* One group of rows against its radius; `of_k` is |k|_p. */
static void judge_group(const measured *at, int64_t first, int64_t end, double radius, double of_k,
                        nadir_rank_one_check *check)
{
    const nadir_uncertainty *set = at->problem->uncertainty;
    const double of_b = nadir_norm_short(end - first, at->work + first, set->p);
    const double norm = of_b * of_k * (1 + (double)(end - first) * UNIT + 2 * NORM_ROUNDING + 4 * UNIT);
    const double beyond = norm - radius;
    check->norm = norm > check->norm ? norm : check->norm;
    if (beyond > 0) {
        check->excess = fmax(check->excess, radius > 0 ? beyond / radius : INFINITY);
    }
}

/* Norm, row sums and smallest entry. */
static nadir_status measure(nadir_context *context, measured *at, double factor, nadir_rank_one_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->problem;
    const nadir_uncertainty *set = problem->uncertainty;
    const double n = (double)problem->states;
    double of_k;
    check->norm = 0;
    check->excess = 0;
    NADIR_CHECK(nadir_norm_p(context, problem->states, at->k, set->p, &of_k));
    for (int64_t row = 0; row < problem->rows; row++) { /* a pinned row that was moved: infinite */
        at->work[row] = at->b[row] != 0 ? at->b[row] / nadir_uncertainty_scale(set, row) : 0;
    }
    if (set->set == NADIR_SET_NONRECT) {
        judge_group(at, 0, problem->rows, factor * set->radius, of_k, check);
    }
    for (int64_t s = 0; s < problem->states && set->set != NADIR_SET_NONRECT; s++) {
        const int64_t end = problem->model->state_rows[s + 1];
        const int64_t step = set->set == NADIR_SET_SA ? 1 : end - problem->model->state_rows[s];
        for (int64_t row = problem->model->state_rows[s]; row < end; row += step) {
            judge_group(at, row, row + step, factor * nadir_uncertainty_radius(set, s, row), of_k, check);
        }
    }
    /* a compensated sum is off by a rounding of itself and by n^2 u^2 of the sizes */
    const double sum = fabs(nadir_vector_sum(problem->states, at->k)) * (1 + 2 * UNIT) +
                       2 * n * UNIT * n * UNIT * at->k_size;
    check->row_sum = nadir_vector_largest(problem->rows, at->b) * sum * (1 + 2 * UNIT);
    NADIR_CHECK(nadir_rank_one_minimum(context, problem->model, at->b, at->k, &check->minimum));
cleanup:
    return status;
}

/* v_b, the denominator, v by Sherman-Morrison and how a residual of it grows. */
static nadir_status solve(nadir_context *context, measured *at)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->problem;
    const int64_t n = problem->states;
    const double gamma = problem->gamma;
    double off;
    double ignored;
    NADIR_CHECK(nadir_enclosure_solve(context, problem, &at->known, false, at->b_pi,
                                      at->known.averaging * at->b_size, at->v_b, &at->v_b_off));
    const double feedback = nadir_vector_dot(n, at->k, at->v_b, &off);
    at->denominator = 1 + gamma * feedback;
    at->denominator_low = at->denominator - gamma * (off + at->k_size * at->v_b_off.error) * (1 + 4 * UNIT) -
                          4 * UNIT * (1 + gamma * fabs(feedback));
    /* of v only differences count, as k sums to zero */
    const double mean = nadir_vector_sum(n, problem->v) / (double)n;
    for (int64_t s = 0; s < n; s++) {
        at->work[s] = problem->v[s] - mean;
    }
    const double loss = nadir_vector_dot(n, at->k, at->work, &ignored);
    for (int64_t s = 0; s < n; s++) {
        at->v[s] = problem->v[s] - gamma * at->v_b[s] * (loss / at->denominator);
    }
    const double strength =
        fabs(nadir_vector_dot(n, problem->mu, at->v_b, &off)) + off + at->mu_size * at->v_b_off.error;
    at->amplification = INFINITY;
    if (at->denominator_low > 0 && at->known.gap > 0) {
        const double grown = at->mu_size + gamma * strength * at->k_size / at->denominator_low;
        at->amplification = grown / at->known.gap * (1 + 16 * UNIT);
    }
cleanup:
    return status;
}

/* At least |R^pi - (I - gamma (Phat^pi - b^pi k^T)) v|: as computed, and what rounding may hide of it. */
static double residual_of(nadir_context *context, measured *at)
{
    const nadir_problem *problem = at->problem;
    const nadir_average *average = nadir_occupancy_average(problem->occupancy);
    const int64_t n = problem->states;
    const double gamma = problem->gamma;
    const double terms = (double)nadir_matrix_row_length(&average->matrix);
    double *product = at->work;
    double off;
    double largest = 0;
    nadir_average_multiply(context, average, 1, at->v, product);
    const double shift = nadir_vector_dot(n, at->k, at->v, &off);
    for (int64_t s = 0; s < n; s++) {
        const double r = (problem->R[s] - at->v[s]) + gamma * (product[s] - at->b_pi[s] * shift);
        largest = fabs(r) <= largest ? largest : fabs(r); /* a NaN stays */
    }
    const double v_size = nadir_vector_largest(n, at->v);
    const double R_size = nadir_vector_largest(problem->rows, problem->rewards);
    const double averaging = at->known.averaging;
    const double rank_one = at->b_size * fabs(shift);
    return (largest + averaging * (R_size + at->known.size * v_size + gamma * rank_one) +
            gamma * at->b_size * off + (terms + 4) * UNIT * at->known.size * v_size +
            4 * UNIT * (R_size + v_size + at->known.size * v_size + gamma * rank_one)) *
           (1 + 8 * UNIT);
}

static nadir_status enclose(nadir_context *context, measured *at, nadir_rank_one_check *check)
{
    nadir_status status = NADIR_OK;
    double off;
    NADIR_CHECK(solve(context, at));
    const double residual = residual_of(context, at);
    const double J = nadir_vector_dot(at->problem->states, at->problem->mu, at->v, &off);
    const double width = (at->amplification * residual + off) * (1 + 4 * UNIT) + 2 * UNIT * fabs(J);
    check->lower = isfinite(width) && isfinite(J) ? J - width : -INFINITY;
    check->upper = isfinite(width) && isfinite(J) ? J + width : INFINITY;
cleanup:
    return status;
}

/* The kernel written out, row after row, where actions are taken at all. */
static nadir_status write_out(nadir_context *context, const measured *at, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = at->problem->model;
    const int64_t n = model->states;
    int64_t *rows = NULL;
    int64_t *starts = NULL;
    int32_t *columns = NULL;
    double *values = NULL;
    int64_t count = 0;
    NADIR_NEW(context, rows, model->rows);
    NADIR_NEW(context, starts, model->rows + 1);
    NADIR_NEW(context, columns, model->rows * n);
    NADIR_NEW(context, values, model->rows * n);
    starts[0] = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        if (at->problem->policy->probabilities[row] > 0) {
            const nadir_row nominal = nadir_model_row(model, row);
            double *to = values + count * n;
            for (int64_t t = 0; t < n; t++) {
                to[t] = -(at->b[row] * at->k[t]);
                columns[count * n + t] = (int32_t)t;
            }
            for (int64_t i = 0; i < nominal.count; i++) {
                to[nadir_row_column(&nominal, i)] += nominal.values[i];
            }
            rows[count++] = row;
            starts[count] = count * n;
        }
    }
    const nadir_changed_rows changed = {count, rows, starts, columns, values};
    NADIR_CHECK(nadir_kernel_create_changed(context, at->problem->model, &changed, kernel));
cleanup:
    nadir_release(context, rows);
    nadir_release(context, starts);
    nadir_release(context, columns);
    nadir_release(context, values);
    return status;
}

/* The return once more, from factors of the perturbed system. */
static nadir_status compare(nadir_context *context, measured *at, const nadir_rank_one_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->problem;
    const int64_t n = problem->states;
    nadir_kernel *kernel = NULL;
    nadir_occupancy *occupancy = NULL;
    nadir_accuracy accuracy;
    double off;
    if (problem->rows <= ENTRIES_LIMIT / n) {
        NADIR_CHECK(write_out(context, at, &kernel));
    } else {
        NADIR_CHECK(nadir_kernel_create_rank_one(context, problem->model, at->b, at->k, &kernel));
    }
    NADIR_CHECK(
        nadir_occupancy_create(context, kernel, problem->policy, problem->gamma, NULL, 0, &occupancy));
    NADIR_CHECK(nadir_occupancy_solve(context, occupancy, 1, problem->R, at->v, &accuracy));
    const double v_size = nadir_vector_largest(n, at->v);
    /* entries as they were written, averages and rewards are off by some roundings */
    const double rounding = (at->known.averaging + 4 * UNIT) *
                            (nadir_vector_largest(problem->rows, problem->rewards) +
                             (at->known.size + problem->gamma * at->b_size * at->k_size) * v_size);
    const double J = nadir_vector_dot(n, problem->mu, at->v, &off);
    const double width =
        (at->amplification * (accuracy.residual + rounding) + off) * (1 + 8 * UNIT) + 2 * UNIT * fabs(J);
    if (J + width < check->lower || J - width > check->upper) {
        status = nadir_fail(context, NADIR_ERROR_VERIFICATION,
                            "the return of the kernel is %.17g by a factorisation of its own, but between "
                            "%.17g and %.17g by Sherman-Morrison",
                            J, check->lower, check->upper);
    }
cleanup:
    nadir_occupancy_free(context, occupancy);
    nadir_kernel_free(kernel);
    return status;
}

nadir_status nadir_rank_one_check_kernel(nadir_context *context, const nadir_problem *problem, double factor,
                                         const nadir_kernel *kernel, bool refactor,
                                         nadir_rank_one_check *check)
{
    nadir_status status = NADIR_OK;
    measured at;
    NADIR_CHECK(begin(context, problem, kernel, &at));
    NADIR_CHECK(measure(context, &at, factor, check));
    if (check->excess > EXCESS_LIMIT) {
        status = nadir_fail(context, NADIR_ERROR_VERIFICATION,
                            "the kernel lies outside its ball by a share of %g", check->excess);
        goto cleanup;
    }
    NADIR_CHECK(enclose(context, &at, check));
    if (refactor) {
        NADIR_CHECK(compare(context, &at, check));
    }
cleanup:
    clear(context, &at);
    return status;
}
