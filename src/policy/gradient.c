/*
 * gradient.c: the gradient of the worst return in the probabilities of the policy, in two ways.
 *
 * J_U is the least of the returns of fixed kernels, so its gradient is that of the return under the worst one
 * (Danskin): dJ/dpi(a|s) = d_P(s) Q_P(s, a). For P = Phat - b k^T the nominal kernel alone gives the same
 * number. With v_b = D b^pi, J_b = d . b^pi and z = 1 + gamma k . v_b
 *
 *     v_P = v - gamma (k . v / z) v_b,      Q_P = Q_R - gamma (k . v / z) Q_b,
 *     d_P = d - gamma (J_b / z) D^T k,      Q_R = R + gamma Phat v,   Q_b = b + gamma Phat v_b
 *
 * and the product has four terms. The two ways share no code, so that each can be checked by the other.
 */
#include "linalg/vector.h"
#include "robust/worst.h"
#include "solve/value.h"

#include <math.h>
#include <string.h>

/* weights(s) q(s, a), in place. */
static void weigh_rows(const nadir_model *model, const double *weights, double *q)
{
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            q[row] *= weights[s];
        }
    }
}

nadir_status nadir_worst_gradient(nadir_context *context, const nadir_worst *worst, double *gradient)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = worst->model;
    const nadir_kernel *kernel = nadir_worst_kernel(worst);
    nadir_kernel *nominal = NULL;
    nadir_occupancy *base = NULL;
    nadir_occupancy *perturbed = NULL;
    nadir_value value = {0};
    NADIR_CHECK(nadir_model_check_one_process(context, worst->model, "gradients"));
    NADIR_CHECK(nadir_kernel_create(context, model, &nominal));
    NADIR_CHECK(nadir_occupancy_create(context, nominal, worst->policy, model->discount, NULL, 0, &base));
    NADIR_CHECK(nadir_occupancy_perturb(context, base, kernel, worst->policy, &perturbed));
    NADIR_CHECK(nadir_value_solve(context, kernel, worst->policy, perturbed, &value));
    nadir_value_q(context, kernel, model->discount, value.v, gradient);
    weigh_rows(model, value.d, gradient);
cleanup:
    nadir_value_clear(context, &value);
    nadir_occupancy_free(context, perturbed);
    nadir_occupancy_free(context, base);
    nadir_kernel_free(nominal);
    return status;
}

/* Terms of the formula, all under the nominal kernel. */
typedef struct nominal_terms {
    double *v, *v_b;      /* [states] D R^pi, D b^pi */
    double *d, *d_k;      /* [states] D^T mu, D^T k */
    double *Q_R, *Q_b;    /* [rows] */
    double vulnerability; /* gamma k . v / z */
    double exposure;      /* gamma J_b / z */
} nominal_terms;

/* D and D^T applied to R^pi, b^pi, mu and k. */
static nadir_status solve_terms(nadir_context *context, const nadir_worst *worst, const nadir_kernel *nominal,
                                const double *b, const double *k, nominal_terms *terms)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = worst->model;
    const double *pi = worst->policy->probabilities;
    nadir_occupancy *occupancy = NULL;
    for (int64_t s = 0; s < model->states; s++) {
        terms->v[s] = 0;
        terms->v_b[s] = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            terms->v[s] += pi[row] * model->rewards[row];
            terms->v_b[s] += pi[row] * b[row];
        }
    }
    memcpy(terms->d, model->initial, (size_t)model->states * sizeof *terms->d);
    memcpy(terms->d_k, k, (size_t)model->states * sizeof *terms->d_k);
    NADIR_CHECK(
        nadir_occupancy_create(context, nominal, worst->policy, model->discount, NULL, 0, &occupancy));
    NADIR_CHECK(nadir_occupancy_solve(context, occupancy, 2, terms->v, terms->v, NULL));
    NADIR_CHECK(nadir_occupancy_solve_transposed(context, occupancy, 2, terms->d, terms->d, NULL));
cleanup:
    nadir_occupancy_free(context, occupancy);
    return status;
}

static nadir_status find_terms(nadir_context *context, const nadir_worst *worst, const double *b,
                               const double *k, nominal_terms *terms)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = worst->model;
    const int64_t n = model->states;
    const double gamma = model->discount;
    nadir_kernel *nominal = NULL;
    double rounding;
    NADIR_CHECK(nadir_kernel_create(context, worst->model, &nominal));
    NADIR_CHECK(solve_terms(context, worst, nominal, b, k, terms));
    const double z = 1 + gamma * nadir_vector_dot(n, k, terms->v_b, &rounding);
    if (!(z > 0)) {
        status = nadir_fail(context, NADIR_ERROR_ILL_POSED,
                            "the kernel is at or past breakdown: 1 + gamma k . v_b is %.10g, and should be "
                            "positive",
                            z);
        goto cleanup;
    }
    terms->vulnerability = gamma * nadir_vector_dot(n, k, terms->v, &rounding) / z;
    terms->exposure = gamma * nadir_vector_dot(n, model->initial, terms->v_b, &rounding) / z;
    nadir_kernel_multiply(context, nominal, terms->v, terms->Q_R);
    nadir_kernel_multiply(context, nominal, terms->v_b, terms->Q_b);
    for (int64_t row = 0; row < model->rows; row++) {
        terms->Q_R[row] = model->rewards[row] + gamma * terms->Q_R[row];
        terms->Q_b[row] = b[row] + gamma * terms->Q_b[row];
    }
cleanup:
    nadir_kernel_free(nominal);
    return status;
}

static void add_terms(const nadir_model *model, const nominal_terms *terms, double *gradient)
{
    const double x = terms->vulnerability;
    const double y = terms->exposure;
    for (int64_t s = 0; s < model->states; s++) {
        const double d = terms->d[s];
        const double d_k = terms->d_k[s];
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double Q_R = terms->Q_R[row];
            const double Q_b = terms->Q_b[row];
            gradient[row] = d * Q_R - x * d * Q_b - y * d_k * Q_R + x * y * d_k * Q_b;
        }
    }
}

nadir_status nadir_worst_gradient_nominal(nadir_context *context, const nadir_worst *worst, double *gradient)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = worst->model;
    const int64_t n = model->states;
    nominal_terms terms = {0};
    double *numbers = NULL;
    double *zeros = NULL;
    const double *b;
    const double *k;
    if (!nadir_kernel_rank_one(nadir_worst_kernel(worst), &b, &k)) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the kernel of domain %s is not of the form Phat - b k^T, which the formula in "
                          "nominal terms is for (domain free); use nadir_worst_gradient",
                          nadir_domain_name(worst->uncertainty.domain));
    }
    NADIR_CHECK(nadir_model_check_one_process(context, model, "gradients"));
    if (b == NULL) { /* the nominal kernel */
        NADIR_NEW_ZERO(context, zeros, model->rows + n);
        b = zeros;
        k = zeros + model->rows;
    }
    NADIR_NEW(context, numbers, 4 * n + 2 * model->rows);
    terms.v = numbers;
    terms.v_b = numbers + n;
    terms.d = numbers + 2 * n;
    terms.d_k = numbers + 3 * n;
    terms.Q_R = numbers + 4 * n;
    terms.Q_b = terms.Q_R + model->rows;
    NADIR_CHECK(find_terms(context, worst, b, k, &terms));
    add_terms(model, &terms, gradient);
cleanup:
    nadir_release(context, numbers);
    nadir_release(context, zeros);
    return status;
}
