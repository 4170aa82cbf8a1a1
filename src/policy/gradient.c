/*
 * gradient.c: the gradient of the worst return in the probabilities of the policy, in two ways.
 *
 * J_U is the least of the returns of fixed kernels, so its gradient is that of the return under the worst one
 * (Danskin): dJ/dpi(a|s) = d_P(s) Q_P(s, a). For P = Phat - b k^T the nominal kernel alone gives the same
 * number. With v_b = D b^pi, J_b = d . b^pi and z = 1 + gamma k . v_b
 *
 *     v_P = v - x v_b,   x = gamma k . v / z,      d_P = d - y D^T k,   y = gamma J_b / z,
 *     Q_P = R_P - x b + gamma Phat v_P,   v = D R_P^pi,
 *
 * R_P being what P pays: R, where rewards are not paid on landing.
 * The two ways share no solve, so that each can be checked by the other.
 */
#include "linalg/vector.h"
#include "model/landing.h"
#include "robust/evaluation.h"
#include "solve/value.h"

#include <string.h>

/* weights(s) q(s, a) in place, q as the model's rewards have it. */
static void weigh_rows(const nadir_model *model, const double *weights, double *q)
{
    nadir_landing_q(model, q);
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

/* v, v_b = D R_P^pi, D b^pi and d, d_k = D^T mu, D^T k of the nominal kernel; terms: [4 states]. */
static nadir_status solve_terms(nadir_context *context, const nadir_worst *worst, const nadir_kernel *nominal,
                                const double *b, const double *k, double *terms)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = worst->model;
    const double *pi = worst->policy->probabilities;
    const int64_t n = model->states;
    nadir_occupancy *occupancy = NULL;
    memset(terms, 0, (size_t)(2 * n) * sizeof *terms);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            terms[s] += pi[row] * nadir_kernel_reward(nadir_worst_kernel(worst), row);
            terms[n + s] += pi[row] * b[row];
        }
    }
    memcpy(terms + 2 * n, model->initial, (size_t)n * sizeof *terms);
    memcpy(terms + 3 * n, k, (size_t)n * sizeof *terms);
    NADIR_CHECK(
        nadir_occupancy_create(context, nominal, worst->policy, model->discount, NULL, 0, &occupancy));
    NADIR_CHECK(nadir_occupancy_solve(context, occupancy, 2, terms, terms, NULL));
    NADIR_CHECK(nadir_occupancy_solve_transposed(context, occupancy, 2, terms + 2 * n, terms + 2 * n, NULL));
cleanup:
    nadir_occupancy_free(context, occupancy);
    return status;
}

/* d_P Q_P from the terms, which become v_P and d_P. */
static nadir_status combine_terms(nadir_context *context, const nadir_worst *worst,
                                  const nadir_kernel *nominal, const double *b, const double *k,
                                  double *terms, double *gradient)
{
    const nadir_model *model = worst->model;
    const int64_t n = model->states;
    const double gamma = model->discount;
    double *v = terms;
    double *v_b = terms + n;
    double *d = terms + 2 * n;
    double *d_k = terms + 3 * n;
    double rounding;
    const double z = 1 + gamma * nadir_vector_dot(n, k, v_b, &rounding);
    if (!(z > 0)) {
        return nadir_fail(context, NADIR_ERROR_ILL_POSED,
                          "the kernel is at or past breakdown: 1 + gamma k . v_b is %.10g, and should be "
                          "positive",
                          z);
    }
    const double x = gamma * nadir_vector_dot(n, k, v, &rounding) / z;
    const double y = gamma * nadir_vector_dot(n, model->initial, v_b, &rounding) / z;
    for (int64_t s = 0; s < n; s++) {
        v[s] -= x * v_b[s];
        d[s] -= y * d_k[s];
    }
    nadir_kernel_multiply(context, nominal, v, gradient);
    for (int64_t row = 0; row < model->rows; row++) {
        gradient[row] =
            nadir_kernel_reward(nadir_worst_kernel(worst), row) - x * b[row] + gamma * gradient[row];
    }
    weigh_rows(model, d, gradient);
    return NADIR_OK;
}

nadir_status nadir_worst_gradient_nominal(nadir_context *context, const nadir_worst *worst, double *gradient)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = worst->model;
    nadir_kernel *nominal = NULL;
    double *terms = NULL;
    double *zeros = NULL;
    const double *b;
    const double *k;
    if (!nadir_kernel_rank_one(nadir_worst_kernel(worst), &b, &k)) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the kernel of domain %s is not of the form Phat - b k^T, which the formula in "
                          "nominal terms is for (domain free); use nadir_worst_gradient",
                          nadir_domain_name(worst->uncertainty.asked_domain));
    }
    NADIR_CHECK(nadir_model_check_one_process(context, model, "gradients"));
    if (b == NULL) { /* the nominal kernel */
        NADIR_NEW_ZERO(context, zeros, model->rows + model->states);
        b = zeros;
        k = zeros + model->rows;
    }
    NADIR_NEW(context, terms, 4 * model->states);
    NADIR_CHECK(nadir_kernel_create(context, model, &nominal));
    NADIR_CHECK(solve_terms(context, worst, nominal, b, k, terms));
    NADIR_CHECK(combine_terms(context, worst, nominal, b, k, terms, gradient));
cleanup:
    nadir_kernel_free(nominal);
    nadir_release(context, terms);
    nadir_release(context, zeros);
    return status;
}
