/*
 * rank_one_check.c: kernels Phat - b k^T: b from c, membership, and bounds on the return by Sherman-Morrison
 * (docs/theory.md, "The free set: rank one is enough"); see rank_one_check.h.
 */
#include "proof/rank_one_check.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "model/kernel.h"
#include "proof/verified_solve.h"

#include <math.h>
#include <string.h>

/* For any b: [rows]: b_pi: [states] <- b^pi, *largest: max_s of sum_a pi |b|. */
static void states_average(const nadir_problem *problem, const double *b, double *b_pi, double *largest)
{
    const int64_t *state_rows = problem->model->state_rows;
    const double *pi = problem->policy->probabilities;
    *largest = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        double size = 0;
        double sum = 0;
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            const double term = pi[row] * b[row];
            sum += term;
            size += fabs(term);
        }
        b_pi[s] = sum;
        *largest = size > *largest ? size : *largest;
    }
}

/* b / c_s for the rows first .. end - 1 of one state: alpha (alpha pi / W)^(q - 1). */
static void shape_state(const nadir_problem *problem, int64_t first, int64_t end, double *b)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const double *pi = problem->policy->probabilities;
    double largest = 0;
    int64_t place = first;
    for (int64_t row = first; row < end; row++) {
        b[row] = nadir_uncertainty_scale(set, row) * pi[row];
        place = b[row] > largest ? row : place;
        largest = b[row] > largest ? b[row] : largest;
    }
    for (int64_t row = first; row < end; row++) {
        if (isinf(set->q)) {
            b[row] = row == place ? 1 : 0;
        } else if (set->q == 1) {
            b[row] = b[row] > 0 ? 1 : 0;
        } else {
            b[row] = nadir_power(b[row] / largest, set->q - 1);
        }
    }
    /* Powers are off by q roundings: their own norm brings the p-norm of b / alpha to 1 whatever q. */
    const double norm = nadir_norm_short(end - first, b + first, set->p);
    for (int64_t row = first; row < end; row++) {
        b[row] = b[row] / norm * nadir_uncertainty_scale(set, row);
    }
}

void nadir_rank_one_states_expand(const nadir_problem *problem, const double *c, double *b)
{
    const int64_t *state_rows = problem->model->state_rows;
    for (int64_t s = 0; s < problem->states; s++) {
        const int64_t first = state_rows[s];
        const int64_t end = state_rows[s + 1];
        if (!(problem->uncertainty->W[s] > 0)) {
            memset(b + first, 0, (size_t)(end - first) * sizeof *b);
            continue;
        }
        shape_state(problem, first, end, b);
        for (int64_t row = first; row < end; row++) {
            b[row] *= c[s];
        }
    }
}

/*
 * The norm of a kernel Phat - b k^T, and bounds on its return.
 *
 * v_P is made by Sherman-Morrison and then checked by its residual. With r = R^pi - (I - gamma P^pi) v_P,
 * rounding included,
 *
 *     J_P = mu . v_P + mu . D_P r,    D_P r = D r - gamma v_b (k . D r) / (1 + gamma k . v_b),
 *
 * where r follows from the residuals of v and of v_b against Phat: for v_P = v - gamma f v_b, whatever f,
 *
 *     r = r(v) - gamma f r(v_b) + gamma b^pi (f - k . v_P),
 *
 * and |D r| <= |r| / (1 - gamma |Phat^pi|) in the maximum norm, so
 *
 *     |J_P - mu . v_P| <= |r| / (1 - gamma |Phat^pi|) (|mu|_1 + gamma |mu . v_b| |k|_1 / (1 + gamma k . v_b))
 *
 * whatever the signs of P's entries: only Phat is taken to be stochastic.
 */

/* Relative error of nadir_norm_p, at most. */
#define NORM_ROUNDING nadir_round_error(64)

/* Rounding may put a kernel this far outside its ball, relatively. */
#define EXCESS_LIMIT 1e-10

/* A kernel, and what is known of it so far. */
typedef struct measured {
    const nadir_problem *problem;
    nadir_verified_solver solver;
    const double *b, *k;         /* [rows], [states] */
    double *owned;               /* [rows + states] of these, where the kernel does not have them */
    double mu_size;              /* |mu|_1 */
    double R_size;               /* largest reward */
    double k_size;               /* |k|_1 */
    double b_size;               /* at least max_s of sum_a pi |b| */
    double *b_pi;                /* [states] */
    double *v_b;                 /* [states] D b^pi */
    nadir_solve_error v_b_error; /* how well it is known */
    double residual;             /* at least |R^pi - (I - gamma Phat^pi) v| of the nominal v */
    double *v;                   /* [states] under the kernel: nominal - gamma f v_b */
    double f;
    double amplification; /* |mu . D_P r| <= this times |r| */
} measured;

/* At least |R^pi - (I - gamma Phat^pi) v| of the nominal v: as computed, and the rounding of that.
 * product: [states]. */
static double nominal_residual(const nadir_context *context, const measured *self, double *product)
{
    const nadir_problem *problem = self->problem;
    const nadir_average *average = nadir_occupancy_average(problem->occupancy);
    const int64_t n = problem->states;
    const double terms = nadir_allreduce_maximum(context, (double)nadir_average_row_length(average));
    double largest = 0;
    nadir_average_multiply(context, average, 1, problem->v, product);
    for (int64_t s = 0; s < n; s++) {
        const double r = (problem->R[s] - problem->v[s]) + problem->gamma * product[s];
        largest = fabs(r) <= largest ? largest : fabs(r); /* a NaN stays */
    }
    largest = nadir_allreduce_maximum(context, largest);
    const double v_size = nadir_global_largest(context, n, problem->v);
    const double through = self->solver.size * v_size;
    return nadir_round_up(largest + self->solver.averaging * (self->R_size + through) +
                              nadir_round_error(terms + 4) * through +
                              nadir_round_error(4) * (self->R_size + v_size + through),
                          8);
}

/* b and k of the kernel, and b^pi. */
static nadir_status read_kernel(nadir_context *context, const nadir_rank_one_question *question,
                                measured *self)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    if (question->kernel == NULL) {
        NADIR_NEW(context, self->owned, problem->rows);
        nadir_rank_one_states_expand(problem, question->c, self->owned);
        self->b = self->owned;
        self->k = question->k;
    } else if (!nadir_kernel_rank_one(question->kernel, &self->b, &self->k)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the kernel is not of the form Phat - b k^T");
    } else if (self->b == NULL) { /* nominal */
        NADIR_NEW_ZERO(context, self->owned, problem->rows + n);
        self->b = self->owned;
        self->k = self->owned + problem->rows;
    }
    states_average(problem, self->b, self->b_pi, &self->b_size);
    self->b_size = nadir_allreduce_maximum(context, self->b_size) * (1 + self->solver.averaging);
    self->k_size = nadir_up_norm_1(context, n, self->k);
cleanup:
    return status;
}

/* A group of rows of norm |b|_p |k|_p, up to `rounding`, against its radius. */
static void compare_norm(double b_norm, double k_norm, double rounding, double radius,
                         nadir_rank_one_check *check)
{
    const double norm = b_norm * k_norm * (1 + rounding + 2 * NORM_ROUNDING + nadir_round_error(4));
    const double beyond = norm - radius;
    check->norm = norm > check->norm ? norm : check->norm;
    if (beyond > 0) {
        check->excess = fmax(check->excess, radius > 0 ? beyond / radius : INFINITY);
    }
}

/* |x|_p up to NORM_ROUNDING; infinity where an entry is not finite. */
static nadir_status norm_of(nadir_context *context, int64_t count, const double *x, double p, double *norm)
{
    if (p == 2) {
        const double found = nadir_global_norm_2(context, count, x);
        *norm = isnan(found) ? INFINITY : found;
        return NADIR_OK;
    }
    *norm = INFINITY;
    return isfinite(nadir_global_largest(context, count, x)) ? nadir_norm_p(context, count, x, p, norm)
                                                             : NADIR_OK;
}

/* The norm of b k^T, by the rows of b. */
static nadir_status measure_rows(nadir_context *context, const measured *self, double factor,
                                 nadir_rank_one_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const nadir_uncertainty *set = problem->uncertainty;
    double *scaled = NULL;
    double k_norm;
    NADIR_NEW(context, scaled, problem->rows);
    NADIR_CHECK(norm_of(context, problem->states, self->k, set->p, &k_norm));
    for (int64_t row = 0; row < problem->rows; row++) {
        /* a pinned row that was moved: infinite */
        scaled[row] = self->b[row] != 0 ? self->b[row] / nadir_uncertainty_scale(set, row) : 0;
    }
    if (set->set == NADIR_SET_NONRECT) { /* millions of rows, perhaps: a plain sum would not do */
        double b_norm;
        NADIR_CHECK(norm_of(context, problem->rows, scaled, set->p, &b_norm));
        compare_norm(b_norm, k_norm, 0, factor * set->radius, check);
    }
    for (int64_t s = 0; s < problem->states && set->set != NADIR_SET_NONRECT; s++) {
        const int64_t end = problem->model->state_rows[s + 1];
        const int64_t step = set->set == NADIR_SET_SA ? 1 : end - problem->model->state_rows[s];
        for (int64_t row = problem->model->state_rows[s]; row < end; row += step) {
            const double b_norm = nadir_norm_short(step, scaled + row, set->p);
            compare_norm(b_norm, k_norm, nadir_round_error((double)step),
                         factor * nadir_uncertainty_radius(set, s, row), check);
        }
    }
    check->norm = nadir_allreduce_maximum(context, check->norm);
    check->excess = nadir_allreduce_maximum(context, check->excess);
cleanup:
    nadir_release(context, scaled);
    return status;
}

/* Norm, row sums and smallest entry. Fails where the kernel lies outside its ball. */
static nadir_status measure(nadir_context *context, const measured *self, double factor,
                            nadir_rank_one_check *check)
{
    const nadir_problem *problem = self->problem;
    const double n = (double)nadir_model_total(problem->model);
    check->norm = 0;
    check->excess = 0;
    NADIR_TRY(measure_rows(context, self, factor, check));
    NADIR_TRY(nadir_rank_one_minimum(context, problem->model, self->b, self->k, &check->minimum));
    const double b_largest = nadir_global_largest(context, problem->rows, self->b);
    /* a compensated sum is off by a rounding of itself and by n^2 u^2 of the sizes */
    const double sum = nadir_round_up(fabs(nadir_global_sum(context, problem->states, self->k)), 2) +
                       2 * n * nadir_round_error(1) * n * nadir_round_error(1) * self->k_size;
    check->row_sum = nadir_round_up(b_largest * sum, 2);
    if (check->excess > EXCESS_LIMIT) {
        return nadir_fail(context, NADIR_ERROR_VERIFICATION,
                          "the kernel lies outside its ball by a share of %g", check->excess);
    }
    return NADIR_OK;
}

/* v by Sherman-Morrison and how a residual of it grows, from v_b. */
static void update_value(const nadir_context *context, measured *self)
{
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const double gamma = problem->gamma;
    const double mean = nadir_global_sum(context, n, problem->v) / (double)nadir_model_total(problem->model);
    double off;
    double ignored;
    const double feedback = nadir_global_dot(context, n, self->k, self->v_b, &off);
    const double denominator = 1 + gamma * feedback;
    const double denominator_low = nadir_round_below(
        denominator - nadir_round_up(gamma * (off + self->k_size * self->v_b_error.error), 4),
        1 + gamma * fabs(feedback), 4);
    for (int64_t s = 0; s < n; s++) { /* as k sums to zero only differences of v count */
        self->v[s] = problem->v[s] - mean;
    }
    self->f = nadir_global_dot(context, n, self->k, self->v, &ignored) / denominator;
    for (int64_t s = 0; s < n; s++) {
        self->v[s] = problem->v[s] - gamma * self->v_b[s] * self->f;
    }
    const double strength = fabs(nadir_global_dot(context, n, problem->mu, self->v_b, &off)) + off +
                            self->mu_size * self->v_b_error.error;
    self->amplification = INFINITY;
    if (denominator_low > 0 && self->solver.gap > 0) {
        const double grown = self->mu_size + gamma * strength * self->k_size / denominator_low;
        self->amplification = nadir_round_up(grown / self->solver.gap, 16);
    }
}

/* At least |R^pi - (I - gamma (Phat^pi - b^pi k^T)) v|: v is the combination that it is said to be up to
 * three roundings of the second term and one of the result, which count with |I - gamma Phat^pi|. */
static double residual_of(const nadir_context *context, const measured *self)
{
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const double gamma = problem->gamma;
    double off;
    const double shift = nadir_global_dot(context, n, self->k, self->v, &off);
    const double moved = gamma * fabs(self->f);
    const double v_size = nadir_global_largest(context, n, self->v);
    const double rounding = nadir_round_error(4) * (moved * self->v_b_error.largest + v_size);
    const double open = nadir_round_above(fabs(self->f - shift) + off, fabs(self->f) + fabs(shift), 2);
    return nadir_round_up(self->residual + moved * self->v_b_error.residual +
                              (1 + self->solver.size) * rounding + gamma * self->b_size * open,
                          16);
}

static void bound_return(const nadir_context *context, const measured *self, nadir_rank_one_check *check)
{
    double off;
    const nadir_problem *problem = self->problem;
    const double residual = residual_of(context, self);
    const double J = nadir_global_dot(context, problem->states, problem->mu, self->v, &off);
    const double width =
        nadir_round_above(nadir_round_up(self->amplification * residual + off, 4), fabs(J), 2);
    check->lower = isfinite(width) && isfinite(J) ? J - width : -INFINITY;
    check->upper = isfinite(width) && isfinite(J) ? J + width : INFINITY;
}

nadir_status nadir_rank_one_check_kernel(nadir_context *context, const nadir_problem *problem,
                                         const nadir_rank_one_question *question, nadir_rank_one_check *check)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    measured self = {.problem = problem, .solver = nadir_verified_solver_make(context, problem)};
    double *vectors = NULL;
    NADIR_NEW(context, vectors, 3 * n);
    self.b_pi = vectors;
    self.v_b = vectors + n;
    self.v = vectors + 2 * n;
    self.mu_size = nadir_up_norm_1(context, n, problem->mu);
    self.R_size = nadir_global_largest(context, problem->rows, problem->rewards);
    self.residual = nominal_residual(context, &self, self.v);
    NADIR_CHECK(read_kernel(context, question, &self));
    NADIR_CHECK(measure(context, &self, question->factor, check));
    NADIR_CHECK(nadir_verified_solve_near(context, problem, &self.solver, false, self.b_pi,
                                          self.solver.averaging * self.b_size, question->guess,
                                          question->basis, self.v_b, &self.v_b_error));
    update_value(context, &self);
    bound_return(context, &self, check);
cleanup:
    nadir_release(context, self.owned);
    nadir_release(context, vectors);
    return status;
}
