/*
 * rank_one_check.c: kernels Phat - b k^T: b from c, membership, and bounds on the return by Sherman-Morrison
 * (docs/theory.md, "The free set: rank one is enough"); see rank_one_check.h.
 *
 * b is f pi as it was rounded, so that sum pi b is f times the sum of pi^2 up to one rounding of b, one of
 * pi^2, A - 1 of the sum and one of the product: A + 2 in all, as nothing changes its sign within a state.
 * Roundings are monotone: the largest f pi as rounded is that of the largest pi.
 */
#include "proof/rank_one_check.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "model/rank_one.h"
#include "proof/verified_solve.h"

#include <math.h>
#include <string.h>

/* Sums over the actions of each state, for the plain L_2 ball. A struct of zeros holds nothing. */
typedef struct rank_one_states {
    double *square;  /* [states] sum of pi^2, A roundings */
    double *root;    /* [states] of that */
    double *top;     /* [states] the largest pi */
    double *factors; /* [states] f of the kernel that was read last */
    double
        *sizes; /* [states] |b|_2 of its states, with a sign: known to averaging (verified_solve.h) + 4 u */
} rank_one_states;

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

/* q = 2: b = (c_s / W_s) alpha^2 pi. */
static void shape_state_2(const nadir_problem *problem, int64_t first, int64_t end, double factor, double *b)
{
    const double *pi = problem->policy->probabilities;
    const double *scales = problem->uncertainty->scales;
    for (int64_t row = first; row < end; row++) {
        b[row] = factor * pi[row];
    }
    for (int64_t row = first; row < end && scales != NULL; row++) {
        b[row] *= scales[row] * scales[row];
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
        if (problem->uncertainty->q == 2) {
            shape_state_2(problem, first, end, c[s] / problem->uncertainty->W[s], b);
            continue;
        }
        shape_state(problem, first, end, b);
        for (int64_t row = first; row < end; row++) {
            b[row] *= c[s];
        }
    }
}

/* Whether the ball is a plain L_2 ball, on one process. */
static bool states_fits(const nadir_problem *problem)
{
    const nadir_uncertainty *set = problem->uncertainty;
    return set->set == NADIR_SET_NONRECT && set->p == 2 && set->q == 2 && set->scales == NULL &&
           problem->model->exchange == NULL;
}

static void states_clear(nadir_context *context, rank_one_states *shape)
{
    nadir_release(context, shape->square);
    *shape = (rank_one_states){0};
}

static nadir_status states_make(nadir_context *context, const nadir_problem *problem, rank_one_states *shape)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const int64_t *state_rows = problem->model->state_rows;
    const double *pi = problem->policy->probabilities;
    NADIR_NEW(context, shape->square, 5 * n);
    shape->root = shape->square + n;
    shape->top = shape->root + n;
    shape->factors = shape->top + n;
    shape->sizes = shape->factors + n;
    for (int64_t s = 0; s < n; s++) {
        double square = 0;
        double top = 0;
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            square += pi[row] * pi[row];
            top = pi[row] > top ? pi[row] : top;
        }
        shape->square[s] = square;
        shape->root[s] = sqrt(square);
        shape->top[s] = top;
    }
cleanup:
    return status;
}

/* The kernel of c: [states]. b_pi: [states] <- b^pi, every entry known to averaging, where that of a sum of
 * rounded products is; *b_largest: the largest |b|, not rounded. */
static void states_read(const nadir_problem *problem, rank_one_states *shape, const double *c, double *b_pi,
                        double *b_largest)
{
    const double *W = problem->uncertainty->W;
    double largest = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const double factor = W[s] > 0 ? c[s] / W[s] : 0;
        const double here = fabs(factor * shape->top[s]);
        shape->factors[s] = factor;
        shape->sizes[s] = factor * shape->root[s];
        b_pi[s] = factor * shape->square[s];
        largest = here > largest ? here : largest;
    }
    *b_largest = largest;
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

/* A kernel with more entries is not written out to be factored. */
#define ENTRIES_LIMIT ((int64_t)1 << 24)

/* Kernels are checked in blocks of at most this many numbers. */
#define NUMBERS_LIMIT 4000000

/* What all kernels share. */
typedef struct shared {
    const nadir_problem *problem;
    nadir_verified_solver solver;
    double mu_size;        /* |mu|_1 */
    double R_size;         /* largest reward */
    double *v;             /* [states] nominal, less its mean: as k sums to zero only differences count */
    double *zeros;         /* [rows + states] b and k of the nominal kernel; NULL: not needed yet */
    double residual;       /* at least |R^pi - (I - gamma Phat^pi) v| */
    double *b;             /* [rows] of the last kernel that was given by c; NULL: there was none */
    double *work;          /* [rows] */
    rank_one_states shape; /* once a kernel was given by c, where that fits */
    nadir_rank_one_search search;
} shared;

typedef struct measured {
    shared *common;
    const double *guess;         /* of v_b, or NULL */
    const double *k;             /* [states] */
    double k_size;               /* |k|_1 */
    const double *b;             /* [rows] while it is measured; NULL: common->shape has it by states */
    double b_largest;            /* |b|, the largest, where it is NULL */
    double *b_pi;                /* [states] until there is v, which takes its place */
    double b_size;               /* at least max_s of sum_a pi |b| */
    double *v_b;                 /* [states] D b^pi */
    nadir_solve_error v_b_error; /* how well it is known */
    double *product;             /* [states] a copy of v_b; NULL: none is wanted */
    double b_change;             /* at least |b^pi - W c|, where one is */
    double denominator_low;      /* at most 1 + gamma k . v_b */
    double *v;                   /* [states] under the kernel: nominal - gamma f v_b */
    double f;
    double amplification; /* |mu . D_P r| <= this times |r| */
} measured;

static void clear(nadir_context *context, shared *common)
{
    nadir_release(context, common->v);
    nadir_release(context, common->zeros);
    nadir_release(context, common->b);
    nadir_release(context, common->work);
    states_clear(context, &common->shape);
    nadir_rank_one_clear(context, &common->search);
}

/* At least |R^pi - (I - gamma Phat^pi) v| of the nominal v: as computed, and the rounding of that.
 * product: [states]. */
static double nominal_residual(const nadir_context *context, const shared *common, double *product)
{
    const nadir_problem *problem = common->problem;
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
    const double through = common->solver.size * v_size;
    return nadir_round_up(largest + common->solver.averaging * (common->R_size + through) +
                              nadir_round_error(terms + 4) * through +
                              nadir_round_error(4) * (common->R_size + v_size + through),
                          8);
}

static nadir_status prepare(nadir_context *context, const nadir_problem *problem, int64_t count,
                            shared *common)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    *common = (shared){.problem = problem, .solver = nadir_verified_solver_make(context, problem)};
    NADIR_NEW(context, common->v, n);
    NADIR_NEW(context, common->work, problem->rows);
    NADIR_CHECK(nadir_rank_one_begin(context, problem->model, count, &common->search));
    common->mu_size = nadir_up_norm_1(context, n, problem->mu);
    common->R_size = nadir_global_largest(context, problem->rows, problem->rewards);
    common->residual = nominal_residual(context, common, common->v);
    const double mean = nadir_global_sum(context, n, problem->v) / (double)nadir_model_total(problem->model);
    for (int64_t s = 0; s < n; s++) {
        common->v[s] = problem->v[s] - mean;
    }
cleanup:
    return status;
}

/* b and k of the kernel that is given by c. */
static nadir_status set_pair(nadir_context *context, shared *common, const nadir_rank_one_question *questions,
                             measured *self)
{
    nadir_status status = NADIR_OK;
    if (common->b == NULL) {
        NADIR_NEW(context, common->b, common->problem->rows);
    }
    self->k = questions->k;
    if (states_fits(common->problem)) {
        if (common->shape.square == NULL) {
            NADIR_CHECK(states_make(context, common->problem, &common->shape));
        }
        states_read(common->problem, &common->shape, questions->c, self->b_pi, &self->b_largest);
        self->b_size = nadir_global_largest(context, common->problem->states, self->b_pi);
    } else {
        nadir_rank_one_states_expand(common->problem, questions->c, common->b);
        self->b = common->b;
    }
cleanup:
    return status;
}

/* At least |b^pi - W c| with b^pi as stored in b_pi; W c is off by one rounding. */
static double change_norm(const nadir_context *context, const nadir_problem *problem, const double *c,
                          const measured *self)
{
    const double *W = problem->uncertainty->W;
    double largest = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const double change = fabs(self->b_pi[s] - W[s] * c[s]);
        largest = change <= largest ? largest : change; /* a NaN stays */
    }
    return nadir_round_up(nadir_allreduce_maximum(context, largest) + nadir_round_error(1) * self->b_size, 8);
}

/* b and k of the kernel, and b^pi. */
static nadir_status set_kernel(nadir_context *context, shared *common,
                               const nadir_rank_one_question *questions, measured *self)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = common->problem;
    const int64_t n = problem->states;
    self->common = common;
    if (questions->kernel == NULL) {
        NADIR_CHECK(set_pair(context, common, questions, self));
    } else if (!nadir_kernel_rank_one(questions->kernel, &self->b, &self->k)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the kernel is not of the form Phat - b k^T");
    }
    if (questions->kernel != NULL && self->b == NULL) { /* nominal */
        if (common->zeros == NULL) {
            NADIR_NEW_ZERO(context, common->zeros, problem->rows + n);
        }
        self->b = common->zeros;
        self->k = common->zeros + problem->rows;
    }
    if (self->b != NULL) {
        states_average(problem, self->b, self->b_pi, &self->b_size);
        self->b_size = nadir_allreduce_maximum(context, self->b_size);
    }
    self->b_size *= 1 + common->solver.averaging;
    self->k_size = nadir_up_norm_1(context, n, self->k);
    self->v_b_error.b_error = common->solver.averaging * self->b_size;
    self->product = questions->product;
    if (self->product != NULL) {
        self->b_change = change_norm(context, problem, questions->c, self);
    }
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
static nadir_status measure_rows(nadir_context *context, const measured *self, double factor, double k_norm,
                                 nadir_rank_one_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->common->problem;
    const nadir_uncertainty *set = problem->uncertainty;
    const double *scaled = set->scales != NULL ? self->common->work : self->b;
    for (int64_t row = 0; row < problem->rows && set->scales != NULL; row++) {
        /* a pinned row that was moved: infinite */
        self->common->work[row] = self->b[row] != 0 ? self->b[row] / set->scales[row] : 0;
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
    return status;
}

/* Norm, row sums and smallest entry. */
static nadir_status measure(nadir_context *context, const measured *self, double factor,
                            nadir_rank_one_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->common->problem;
    const nadir_uncertainty *set = problem->uncertainty;
    const rank_one_states *shape = &self->common->shape;
    const double n = (double)nadir_model_total(problem->model);
    double b_largest = self->b_largest;
    double k_norm;
    check->norm = 0;
    check->excess = 0;
    NADIR_CHECK(norm_of(context, problem->states, self->k, set->p, &k_norm));
    if (self->b != NULL) {
        NADIR_CHECK(measure_rows(context, self, factor, k_norm, check));
        b_largest = nadir_global_largest(context, problem->rows, self->b);
        NADIR_CHECK(
            nadir_rank_one_minimum(context, &self->common->search, self->b, self->k, &check->minimum));
    } else {
        double b_norm;
        NADIR_CHECK(norm_of(context, problem->states, shape->sizes, 2, &b_norm));
        compare_norm(b_norm, k_norm, self->common->solver.averaging + nadir_round_error(8),
                     factor * set->radius, check);
        nadir_rank_one_minimum_of_states(context, &self->common->search, shape->factors,
                                         problem->policy->probabilities, shape->top, self->common->b, self->k,
                                         &check->minimum);
    }
    /* a compensated sum is off by a rounding of itself and by n^2 u^2 of the sizes */
    const double sum = nadir_round_up(fabs(nadir_global_sum(context, problem->states, self->k)), 2) +
                       2 * n * nadir_round_error(1) * n * nadir_round_error(1) * self->k_size;
    check->row_sum = nadir_round_up(b_largest * sum, 2);
cleanup:
    return status;
}

/* The denominator, v by Sherman-Morrison and how a residual of it grows, from v_b. */
static void update_value(const nadir_context *context, measured *self)
{
    const shared *common = self->common;
    const nadir_problem *problem = common->problem;
    const int64_t n = problem->states;
    const double gamma = problem->gamma;
    double off;
    double ignored;
    const double feedback = nadir_global_dot(context, n, self->k, self->v_b, &off);
    const double denominator = 1 + gamma * feedback;
    self->denominator_low = nadir_round_below(
        denominator - nadir_round_up(gamma * (off + self->k_size * self->v_b_error.error), 4),
        1 + gamma * fabs(feedback), 4);
    const double loss = nadir_global_dot(context, n, self->k, common->v, &ignored);
    self->f = loss / denominator;
    for (int64_t s = 0; s < n; s++) {
        self->v[s] = problem->v[s] - gamma * self->v_b[s] * self->f;
    }
    const double strength = fabs(nadir_global_dot(context, n, problem->mu, self->v_b, &off)) + off +
                            common->mu_size * self->v_b_error.error;
    self->amplification = INFINITY;
    if (self->denominator_low > 0 && common->solver.gap > 0) {
        const double grown = common->mu_size + gamma * strength * self->k_size / self->denominator_low;
        self->amplification = nadir_round_up(grown / common->solver.gap, 16);
    }
}

/* At least |R^pi - (I - gamma (Phat^pi - b^pi k^T)) v|: v is the combination that it is said to be up to
 * three roundings of the second term and one of the result, which count with |I - gamma Phat^pi|. */
static double residual_of(const nadir_context *context, const measured *self)
{
    const nadir_problem *problem = self->common->problem;
    const int64_t n = problem->states;
    const double gamma = problem->gamma;
    double off;
    const double shift = nadir_global_dot(context, n, self->k, self->v, &off);
    const double moved = gamma * fabs(self->f);
    const double v_size = nadir_global_largest(context, n, self->v);
    const double rounding = nadir_round_error(4) * (moved * self->v_b_error.largest + v_size);
    const double open = nadir_round_above(fabs(self->f - shift) + off, fabs(self->f) + fabs(shift), 2);
    return nadir_round_up(self->common->residual + moved * self->v_b_error.residual +
                              (1 + self->common->solver.size) * rounding + gamma * self->b_size * open,
                          16);
}

static void bound_return(const nadir_context *context, const measured *self, nadir_rank_one_check *check)
{
    double off;
    const nadir_problem *problem = self->common->problem;
    const double residual = residual_of(context, self);
    const double J = nadir_global_dot(context, problem->states, problem->mu, self->v, &off);
    const double width =
        nadir_round_above(nadir_round_up(self->amplification * residual + off, 4), fabs(J), 2);
    check->lower = isfinite(width) && isfinite(J) ? J - width : -INFINITY;
    check->upper = isfinite(width) && isfinite(J) ? J + width : INFINITY;
}

/* Phat - b k^T as a kernel of written rows, those with pi > 0. b: [rows], k: [states]. */
static nadir_status write_out(nadir_context *context, const nadir_problem *problem, const double *b,
                              const double *k, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
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
        if (problem->policy->probabilities[row] > 0) {
            const nadir_row nominal = nadir_model_row(model, row);
            double *to = values + count * n;
            for (int64_t t = 0; t < n; t++) {
                to[t] = -(b[row] * k[t]);
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
    NADIR_CHECK(nadir_kernel_create_changed(context, problem->model, &changed, kernel));
cleanup:
    nadir_release(context, rows);
    nadir_release(context, starts);
    nadir_release(context, columns);
    nadir_release(context, values);
    return status;
}

/* The return again, from factors of the perturbed system; fails where the two disagree. */
static nadir_status compare_with_factors(nadir_context *context, const measured *self,
                                         const nadir_rank_one_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->common->problem;
    const int64_t n = problem->states;
    nadir_kernel *kernel = NULL;
    nadir_occupancy *occupancy = NULL;
    nadir_accuracy accuracy;
    double off;
    if (problem->model->exchange == NULL && problem->rows <= ENTRIES_LIMIT / n) {
        NADIR_CHECK(write_out(context, problem, self->b, self->k, &kernel));
    } else {
        NADIR_CHECK(nadir_kernel_create_rank_one(context, problem->model, self->b, self->k, &kernel));
    }
    NADIR_CHECK(
        nadir_occupancy_create(context, kernel, problem->policy, problem->gamma, NULL, 0, &occupancy));
    NADIR_CHECK(nadir_occupancy_solve(context, occupancy, 1, problem->R, self->v, &accuracy));
    const double v_size = nadir_global_largest(context, n, self->v);
    /* entries as they were written, averages and rewards are off by some roundings */
    const double rounding =
        (self->common->solver.averaging + nadir_round_error(4)) *
        (self->common->R_size +
         (self->common->solver.size + problem->gamma * self->b_size * self->k_size) * v_size);
    const double J = nadir_global_dot(context, n, problem->mu, self->v, &off);
    const double width = nadir_round_above(
        nadir_round_up(self->amplification * (accuracy.residual + rounding) + off, 8), fabs(J), 2);
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

/* Norm, row sums and smallest entry of every kernel. Fails where one lies outside its ball. */
static nadir_status measure_all(nadir_context *context, shared *common, int64_t count,
                                const nadir_rank_one_question *questions, measured *all,
                                nadir_rank_one_check *checks)
{
    nadir_status status = NADIR_OK;
    for (int64_t i = 0; i < count; i++) {
        NADIR_CHECK(set_kernel(context, common, &questions[i], &all[i]));
        all[i].guess = questions[i].guess;
        NADIR_CHECK(measure(context, &all[i], questions[i].factor, &checks[i]));
        if (checks[i].excess > EXCESS_LIMIT) {
            status = nadir_fail(context, NADIR_ERROR_VERIFICATION,
                                "the kernel lies outside its ball by a share of %g", checks[i].excess);
            goto cleanup;
        }
    }
cleanup:
    return status;
}

/* v_b of all, then v of all. vectors: [2 * states * count] for b^pi, later v, and for v_b. */
static nadir_status bound_returns(nadir_context *context, const shared *common, int64_t count, measured *all,
                                  nadir_solve_error *v_b_errors, double *vectors,
                                  nadir_rank_one_check *checks)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = common->problem;
    const int64_t numbers = problem->states * count;
    const double **guesses = NULL;
    bool guessed = false;
    NADIR_NEW(context, guesses, count);
    for (int64_t i = 0; i < count; i++) {
        v_b_errors[i] = all[i].v_b_error;
        guesses[i] = all[i].guess;
        guessed = guessed || guesses[i] != NULL;
    }
    NADIR_CHECK(nadir_verified_solve_many(context, problem, &common->solver, false, count, vectors,
                                          guessed ? guesses : NULL, vectors + numbers, v_b_errors));
    for (int64_t i = 0; i < count; i++) {
        all[i].v_b_error = v_b_errors[i];
        if (all[i].product != NULL) {
            memcpy(all[i].product, all[i].v_b, (size_t)problem->states * sizeof *all[i].product);
            checks[i].product_off = nadir_round_up(v_b_errors[i].residual + all[i].b_change, 4);
        }
        update_value(context, &all[i]);
        bound_return(context, &all[i], &checks[i]);
    }
cleanup:
    nadir_release(context, guesses);
    return status;
}

static nadir_status check_block(nadir_context *context, shared *common, int64_t count,
                                const nadir_rank_one_question *questions, bool refactor,
                                nadir_rank_one_check *checks)
{
    nadir_status status = NADIR_OK;
    const int64_t n = common->problem->states;
    measured *all = NULL;
    nadir_solve_error *v_b_errors = NULL;
    double *vectors = NULL;
    NADIR_NEW_ZERO(context, all, count);
    NADIR_NEW(context, v_b_errors, count);
    NADIR_NEW(context, vectors, 2 * n * count);
    for (int64_t i = 0; i < count; i++) {
        all[i].b_pi = vectors + i * n;
        all[i].v_b = vectors + (count + i) * n;
        all[i].v = all[i].b_pi;
    }
    NADIR_CHECK(measure_all(context, common, count, questions, all, checks));
    NADIR_CHECK(bound_returns(context, common, count, all, v_b_errors, vectors, checks));
    for (int64_t i = 0; i < count && refactor; i++) {
        NADIR_CHECK(compare_with_factors(context, &all[i], &checks[i]));
    }
cleanup:
    nadir_release(context, all);
    nadir_release(context, v_b_errors);
    nadir_release(context, vectors);
    return status;
}

nadir_status nadir_rank_one_check_kernels(nadir_context *context, const nadir_problem *problem, int64_t count,
                                          const nadir_rank_one_question *questions, bool refactor,
                                          nadir_rank_one_check *checks)
{
    nadir_status status = NADIR_OK;
    const int64_t most = NUMBERS_LIMIT / (2 * nadir_model_share(problem->model));
    const int64_t block = most > 1 ? most : 1;
    shared common;
    NADIR_CHECK(prepare(context, problem, count, &common));
    for (int64_t first = 0; first < count; first += block) {
        NADIR_CHECK(nadir_progress(context, "checking kernels", (double)first / (double)count));
        NADIR_CHECK(check_block(context, &common, count - first < block ? count - first : block,
                                questions + first, refactor, checks + first));
    }
cleanup:
    clear(context, &common);
    return status;
}

nadir_status nadir_rank_one_check_kernel(nadir_context *context, const nadir_problem *problem, double factor,
                                         const nadir_kernel *kernel, bool refactor,
                                         nadir_rank_one_check *check)
{
    const nadir_rank_one_question questions = {.kernel = kernel, .factor = factor};
    return nadir_rank_one_check_kernels(context, problem, 1, &questions, refactor, check);
}
