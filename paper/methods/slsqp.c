/*
 * slsqp.c: method slsqp: sequential quadratic programming over pairs (b, k), as the paper's experiments do
 * it, with NLopt's SLSQP (Kraft 1994) and analytic gradients.
 *
 *     max lambda(b, k) = gamma s l / (1 + gamma k . g),   s = d . b^pi,  l = k . v,  g = D b^pi,  y = D^T k
 *     over b >= 0, |b / alpha|_2 <= beta, |k|_2 <= 1, 1 . k = 0
 *
 *     d lambda / d k = (gamma s v - lambda gamma g) / (1 + gamma k . g)
 *     d lambda / d b = pi (gamma l d - lambda gamma y) / (1 + gamma k . g)      at the state of each row
 *
 * An evaluation takes one solve and one transposed solve. A step takes a dense least-squares problem in rows
 * + states variables. The method is local and starts from one random pair. If k . v < 0 there, b may shrink
 * to 0 before k has turned; (0, k) is a stationary point with penalty 0. The variables are b / (alpha unit)
 * and k. unit = 1 as in the paper, or beta (slsqp-scaled), which lets k turn as fast as b shrinks. NLopt
 * allocates memory outside of the context.
 */
#include "methods/methods.h"
#include "methods/rank_one_pair.h"
#include "sample_stream.h"

#include <float.h>
#include <math.h>
#include <nlopt.h>
#include <string.h>

/* Of the constraints, relative. */
#define CONSTRAINT_TOLERANCE 1e-10
#define SMALLEST_DENOMINATOR 1e-3
/* NLopt's SLSQP works with about so many numbers for each pair of variables. */
#define WORK_PER_PAIR 9
/* With 8000 a step takes ten minutes and 4.6 GB. */
#define VARIABLES_LIMIT 8000

typedef struct program {
    nadir_context *context;
    const nadir_problem *problem;
    double beta;
    double unit;   /* of b */
    double length; /* beta / unit: of b in its unit, at most */
    nadir_trajectory *trajectory;
    nlopt_opt optimiser;
    nadir_status status;
    double *x;    /* [rows + states] where it starts */
    double *b;    /* [rows] */
    double *b_pi; /* [states] */
    double *g;    /* [states] */
    double *y;    /* [states] */
    double *best; /* [rows + states] b and k of the best pair of the ball so far */
    double highest;
    int64_t evaluations;
} program;

static double dot(int64_t count, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

static double sum_of(int64_t count, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += x[i];
    }
    return sum;
}

/* The terms of lambda and its gradient at x. */
typedef struct objective_terms {
    double d_dot_b, k_dot_v, k_dot_g; /* s, l, k . g */
    double denominator;
    double lambda;
} objective_terms;

static nadir_status evaluate(program *self, const double *x, objective_terms *terms)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const double *k = x + problem->rows;
    for (int64_t row = 0; row < problem->rows; row++) {
        self->b[row] = self->unit * nadir_uncertainty_scale(problem->uncertainty, row) * x[row];
    }
    nadir_rank_one_pair_average(problem, self->b, self->b_pi);
    NADIR_CHECK(nadir_occupancy_solve(self->context, problem->occupancy, 1, self->b_pi, self->g, NULL));
    NADIR_CHECK(nadir_occupancy_solve_transposed(self->context, problem->occupancy, 1, k, self->y, NULL));
    terms->d_dot_b = dot(n, problem->d, self->b_pi);
    terms->k_dot_v = dot(n, k, problem->v);
    terms->k_dot_g = dot(n, k, self->g);
    /* Trial points may lie outside the ball, where it can have any sign. Keep away from 0. */
    const double denominator = 1 + problem->gamma * terms->k_dot_g;
    terms->denominator = fabs(denominator) > SMALLEST_DENOMINATOR ? denominator : SMALLEST_DENOMINATOR;
    terms->lambda = problem->gamma * terms->d_dot_b * terms->k_dot_v / terms->denominator;
cleanup:
    return status;
}

static void write_gradient(const program *self, const objective_terms *terms, double *gradient)
{
    const nadir_problem *problem = self->problem;
    const double *pi = problem->policy->probabilities;
    const double over = problem->gamma / terms->denominator;
    for (int64_t s = 0; s < problem->states; s++) {
        const double gradient_b = over * (terms->k_dot_v * problem->d[s] - terms->lambda * self->y[s]);
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            gradient[row] =
                self->unit * nadir_uncertainty_scale(problem->uncertainty, row) * pi[row] * gradient_b;
        }
        gradient[problem->rows + s] = over * (terms->d_dot_b * problem->v[s] - terms->lambda * self->g[s]);
    }
}

/* Records the penalty of the pair after centring k and scaling b and k into the ball: iterates may lie a
 * little outside the set. */
static nadir_status record(program *self, const double *x, const objective_terms *terms)
{
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const double *k = x + problem->rows;
    const double mean = sum_of(n, k) / (double)n;
    const double k_dot_v = terms->k_dot_v - mean * sum_of(n, problem->v);
    const double k_dot_g = terms->k_dot_g - mean * sum_of(n, self->g);
    const double b_size = sqrt(dot(problem->rows, x, x)) / self->length;
    const double k_size = sqrt(fmax(0, dot(n, k, k) - (double)n * mean * mean));
    const double shrink = 1 / (fmax(1, b_size) * fmax(1, k_size));
    const double denominator = 1 + problem->gamma * shrink * k_dot_g;
    const double penalty = problem->gamma * shrink * terms->d_dot_b * k_dot_v / denominator;
    self->evaluations++;
    if (denominator > 0 && penalty > self->highest) {
        self->highest = penalty;
        memcpy(self->best, x, (size_t)(problem->rows + n) * sizeof *x);
    }
    return nadir_trajectory_record(self->context, self->trajectory, self->evaluations, self->highest);
}

static double objective(unsigned count, const double *x, double *gradient, void *user)
{
    program *self = user;
    objective_terms terms = {0};
    (void)count;
    self->status = self->status == NADIR_OK ? evaluate(self, x, &terms) : self->status;
    self->status = self->status == NADIR_OK ? record(self, x, &terms) : self->status;
    if (self->status != NADIR_OK) {
        nlopt_force_stop(self->optimiser);
        return 0;
    }
    if (gradient != NULL) {
        write_gradient(self, &terms, gradient);
    }
    return terms.lambda;
}

/* |b|^2 - length^2 and |k|^2 - 1, at most 0. */
static void lengths(unsigned constraints, double *values, unsigned count, const double *x, double *gradient,
                    void *user)
{
    const program *self = user;
    const int64_t rows = self->problem->rows;
    const int64_t all = (int64_t)count;
    values[0] = dot(rows, x, x) - self->length * self->length;
    values[1] = dot(all - rows, x + rows, x + rows) - 1;
    if (gradient != NULL) {
        memset(gradient, 0, (size_t)constraints * count * sizeof *gradient);
        for (int64_t i = 0; i < all; i++) {
            gradient[i < rows ? i : all + i] = 2 * x[i];
        }
    }
}

/* 1 . k = 0. */
static double sum_of_k(unsigned count, const double *x, double *gradient, void *user)
{
    const program *self = user;
    for (int64_t i = 0; gradient != NULL && i < (int64_t)count; i++) {
        gradient[i] = i < self->problem->rows ? 0 : 1;
    }
    return sum_of(self->problem->states, x + self->problem->rows);
}

static nadir_status start(program *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const int64_t all = problem->rows + n;
    double *room = NULL;
    if (all > VARIABLES_LIMIT) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "method slsqp has a variable for each row and each state and works with the square "
                          "of their number; it takes up to %d, and the model has %lld: leave the method to "
                          "auto",
                          VARIABLES_LIMIT, (long long)all);
    }
    /* NLopt takes about as much, outside of the context: fail where the limit of memory does not allow it. */
    NADIR_NEW(context, room, WORK_PER_PAIR * all * all);
    nadir_release(context, room);
    NADIR_NEW(context, self->x, all);
    NADIR_NEW(context, self->b, problem->rows);
    NADIR_NEW(context, self->b_pi, n);
    NADIR_NEW(context, self->g, n);
    NADIR_NEW(context, self->y, n);
    NADIR_NEW_ZERO(context, self->best, all);
    nadir_random random = nadir_sample_stream(nadir_sample_key(context), 0);
    nadir_rank_one_pair_draw(problem, self->length, &random, self->x, self->x + problem->rows);
    for (int64_t row = 0; row < problem->rows; row++) {
        const double scale = nadir_uncertainty_scale(problem->uncertainty, row);
        self->x[row] = scale > 0 ? self->x[row] / scale : 0;
    }
cleanup:
    return status;
}

static void finish(program *self)
{
    nlopt_destroy(self->optimiser);
    nadir_release(self->context, self->x);
    nadir_release(self->context, self->b);
    nadir_release(self->context, self->b_pi);
    nadir_release(self->context, self->g);
    nadir_release(self->context, self->y);
    nadir_release(self->context, self->best);
}

/* The problem as NLopt's object; false: NLopt has no memory for it. */
static bool set_up(program *self)
{
    const int64_t rows = self->problem->rows;
    const int64_t all = rows + self->problem->states;
    const double tolerances[2] = {CONSTRAINT_TOLERANCE * self->length * self->length, CONSTRAINT_TOLERANCE};
    const nadir_budget *budget = &self->trajectory->budget;
    self->optimiser = nlopt_create(NLOPT_LD_SLSQP, (unsigned)all);
    bool good = self->optimiser != NULL && nlopt_set_max_objective(self->optimiser, objective, self) > 0;
    for (int64_t i = 0; good && i < rows; i++) {
        good = nlopt_set_lower_bound(self->optimiser, (int)i, 0) > 0;
    }
    good = good && nlopt_add_inequality_mconstraint(self->optimiser, 2, lengths, self, tolerances) > 0;
    good = good && nlopt_add_equality_constraint(self->optimiser, sum_of_k, self, CONSTRAINT_TOLERANCE) > 0;
    good = good && nlopt_set_ftol_rel(self->optimiser, budget->tolerance) > 0;
    good = good && nlopt_set_xtol_rel(self->optimiser, budget->tolerance) > 0;
    good = good && nlopt_set_maxeval(self->optimiser, (int)fmin(1e9, (double)budget->samples)) > 0;
    if (good && !isinf(budget->seconds)) {
        good = nlopt_set_maxtime(self->optimiser, fmax(1e-3, budget->seconds)) > 0;
    }
    return good;
}

/* Whether the largest penalty, to first order gamma beta |Phi v| |W d|, is above the rounding of J. */
static bool is_worthwhile(const program *self)
{
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const double mean = sum_of(n, problem->v) / (double)n;
    double Phi_v_square = 0;
    double Wd_square = 0;
    for (int64_t s = 0; s < n; s++) {
        const double weight = problem->uncertainty->W[s] * problem->d[s];
        Phi_v_square += (problem->v[s] - mean) * (problem->v[s] - mean);
        Wd_square += weight * weight;
    }
    return problem->gamma * self->beta * sqrt(Phi_v_square * Wd_square) >
           DBL_EPSILON * nadir_vector_largest(n, problem->v);
}

static nadir_stop reason_of(nlopt_result result)
{
    switch (result) {
    case NLOPT_MAXEVAL_REACHED:
        return NADIR_STOP_SAMPLES;
    case NLOPT_MAXTIME_REACHED:
        return NADIR_STOP_TIME;
    case NLOPT_ROUNDOFF_LIMITED:
        return NADIR_STOP_STABLE;
    default:
        return result > 0 ? NADIR_STOP_TOLERANCE : NADIR_STOP_FAILED;
    }
}

static nadir_status search(nadir_context *context, const nadir_problem *problem, double beta, double unit,
                           nadir_trajectory *trajectory, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    program self = {.context = context,
                    .problem = problem,
                    .beta = beta,
                    .unit = unit,
                    .length = beta / unit,
                    .trajectory = trajectory};
    const int64_t all = problem->rows + problem->states;
    double ignored;
    NADIR_CHECK(start(&self));
    if (!set_up(&self)) {
        status = nadir_fail(context, NADIR_ERROR_MEMORY, "out of memory: NLopt refuses %lld variables",
                            (long long)all);
        goto cleanup;
    }
    const nlopt_result result =
        is_worthwhile(&self) ? nlopt_optimize(self.optimiser, self.x, &ignored) : NLOPT_FTOL_REACHED;
    NADIR_CHECK(self.status);
    if (result == NLOPT_OUT_OF_MEMORY) {
        status = nadir_fail(context, NADIR_ERROR_MEMORY, "out of memory inside NLopt");
        goto cleanup;
    }
    for (int64_t row = 0; row < problem->rows; row++) {
        self.b[row] = unit * nadir_uncertainty_scale(problem->uncertainty, row) * self.best[row];
    }
    NADIR_CHECK(
        nadir_rank_one_pair_attack(context, problem, beta, self.b, self.best + problem->rows, candidate));
    candidate->stop = reason_of(result);
    candidate->converged = result > 0 && result != NLOPT_MAXEVAL_REACHED && result != NLOPT_MAXTIME_REACHED;
    candidate->iterations = self.evaluations;
cleanup:
    finish(&self);
    return status;
}

nadir_status nadir_search_slsqp(nadir_context *context, const nadir_problem *problem, double beta,
                                nadir_trajectory *trajectory, nadir_candidate *candidate)
{
    return search(context, problem, beta, 1, trajectory, candidate);
}

nadir_status nadir_search_slsqp_scaled(nadir_context *context, const nadir_problem *problem, double beta,
                                       nadir_trajectory *trajectory, nadir_candidate *candidate)
{
    return search(context, problem, beta, beta, trajectory, candidate);
}
