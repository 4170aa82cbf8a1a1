/*
 * multistart.c: Frank-Wolfe from several starts; see frank_wolfe.h.
 *
 * Most starts lead to kernels that are known. Each is therefore searched from roughly at first, and then with
 * less and less tolerance, until one of these holds: the result is worse than the candidate, which then becomes
 * what a search from there finds; it visits the states as the candidate does; its gap does not reach as far as
 * the candidate.
 */
#include "search/frank_wolfe.h"

#include "linalg/distributed.h"
#include "model/landing.h"
#include "proof/perturbable_rows.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Multipliers tried where no bound on occupancies is at hand, as shares of the one at which the rows of a
 * state with all of the occupancy would use up the ball. */
static const double prices[] = {0.3, 0.03, 0.003};

/* Whether some kernel of the set reaches a state of occupancy zero. */
static nadir_status misses_states(nadir_context *context, const nadir_problem *problem, const double *d,
                                  bool *misses)
{
    nadir_status status = NADIR_OK;
    const double nothing = DBL_EPSILON * DBL_EPSILON / (1 - problem->gamma);
    bool *reach = NULL;
    bool visited = true;
    NADIR_NEW(context, reach, problem->states);
    NADIR_CHECK(nadir_reachable_states(context, problem, reach));
    for (int64_t s = 0; s < problem->states; s++) {
        visited = visited && (d[s] > nothing || !reach[s]);
    }
    *misses = !nadir_allreduce_and(context, visited);
cleanup:
    nadir_release(context, reach);
    return status;
}

/* A search from a kernel of the ball; otherwise as nadir_multistart_again. */
static nadir_status search_from(nadir_context *context, const nadir_problem *problem, double beta,
                                const nadir_kernel *start, double tolerance, int64_t iterations_limit,
                                nadir_candidate *candidate, bool *better)
{
    nadir_status status = NADIR_OK;
    nadir_candidate other = {0};
    NADIR_CHECK(nadir_frank_wolfe_run(context, problem, beta, start, tolerance, iterations_limit, &other));
    const double rounding = 64 * DBL_EPSILON * nadir_global_largest(context, problem->states, other.v);
    *better = other.J < candidate->J - tolerance * (problem->J - candidate->J) - rounding;
    other.iterations += candidate->iterations;
    candidate->iterations = other.iterations;
    if (*better) {
        nadir_candidate_clear(context, candidate);
        *candidate = other;
        other = (nadir_candidate){0};
    }
cleanup:
    nadir_candidate_clear(context, &other);
    return status;
}

nadir_status nadir_multistart_again(nadir_context *context, const nadir_problem *problem, double beta,
                                    const nadir_lagrangian *lagrangian, double tolerance,
                                    int64_t iterations_limit, nadir_candidate *candidate, bool *better)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *start = NULL;
    NADIR_CHECK(nadir_lagrangian_kernel_in_ball(context, problem, beta, lagrangian, &start));
    NADIR_CHECK(search_from(context, problem, beta, start, tolerance, iterations_limit, candidate, better));
cleanup:
    nadir_kernel_free(start);
    return status;
}

/* Further starts of one search. */
typedef struct multistart {
    nadir_context *context;
    const nadir_problem *problem;
    double beta, tolerance;
    int64_t iterations_limit;
    const nadir_multistart_plan *plan;
    nadir_frank_wolfe *search; /* of rough searches */
    nadir_candidate *candidate;
    bool better;
} multistart;

/* Whether a rough result may lead to a worse kernel than the candidate. */
static bool may_be_worse(const multistart *self, const nadir_candidate *rough)
{
    const nadir_candidate *candidate = self->candidate;
    double apart = 0;
    if (rough->J < candidate->J) {
        return true;
    }
    for (int64_t s = 0; s < self->problem->states; s++) {
        apart += fabs(rough->d[s] - candidate->d[s]);
    }
    return rough->J - self->plan->reach * rough->gap < candidate->J &&
           apart * (1 - self->problem->gamma) > self->plan->apart;
}

/* Searches on from a rough result, which is cleared. */
static nadir_status finish(multistart *self, nadir_candidate *rough)
{
    nadir_status status = NADIR_OK;
    const nadir_multistart_plan *plan = self->plan;
    double finer = plan->rough;
    while (may_be_worse(self, rough)) {
        nadir_candidate next = {0};
        bool found;
        finer *= plan->finer;
        if (rough->J < self->candidate->J || finer <= plan->finest) {
            NADIR_CHECK(search_from(self->context, self->problem, self->beta, rough->kernel, self->tolerance,
                                    self->iterations_limit, self->candidate, &found));
            self->better = self->better || found;
            break;
        }
        NADIR_CHECK(nadir_frank_wolfe_run(self->context, self->problem, self->beta, rough->kernel, finer,
                                          plan->steps, &next));
        nadir_candidate_clear(self->context, rough);
        *rough = next;
    }
cleanup:
    nadir_candidate_clear(self->context, rough);
    return status;
}

/* From the solution of the linear problem at v and d: [states]. */
static nadir_status try_values(multistart *self, const double *v, const double *d)
{
    nadir_candidate rough = {0};
    NADIR_TRY(nadir_frank_wolfe_from(self->context, self->search, self->beta, v, d, self->plan->rough,
                                     self->plan->steps, &rough));
    return finish(self, &rough);
}

/* From a kernel of the ball. */
static nadir_status try_kernel(multistart *self, const nadir_kernel *start)
{
    nadir_candidate rough = {0};
    NADIR_TRY(nadir_frank_wolfe_run(self->context, self->problem, self->beta, start, self->plan->rough,
                                    self->plan->steps, &rough));
    return finish(self, &rough);
}

/* ------------------------------------------------------------------------------ larger radii, states */

/* A number of a state or of a row, by which starts are chosen. */
typedef struct ranked {
    double number;
    int64_t index;
} ranked;

static int by_number(const void *left, const void *right)
{
    const ranked *a = left;
    const ranked *b = right;
    return a->number != b->number ? (a->number > b->number) - (a->number < b->number)
                                  : (a->index > b->index) - (a->index < b->index);
}

/* From where all rows lead to one state, of the lowest values one after another; d: [states]. */
static nadir_status try_states(multistart *self, const double *d)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const int64_t states = self->problem->states;
    ranked *order = NULL;
    double *v = NULL;
    NADIR_NEW(context, order, states);
    NADIR_NEW(context, v, states);
    for (int64_t s = 0; s < states; s++) {
        order[s] = (ranked){self->problem->v[s], s};
        v[s] = 1;
    }
    qsort(order, (size_t)states, sizeof *order, by_number);
    for (int64_t i = 0; i < states && i < self->plan->states; i++) {
        v[order[i].index] = 0;
        NADIR_CHECK(try_values(self, v, d));
        v[order[i].index] = 1;
    }
cleanup:
    nadir_release(context, order);
    nadir_release(context, v);
    return status;
}

/* The kernel of a ball of radius `from`, moved into one of radius `to`. */
static nadir_status shrink(const multistart *self, nadir_kernel *kernel, double from, double to,
                           nadir_kernel **start)
{
    const nadir_lagrangian moved = {.kernel = kernel, .distance = from};
    return nadir_lagrangian_kernel_in_ball(self->context, self->problem, to, &moved, start);
}

/* From the worst kernel of a larger ball: from its value, its occupancy and both; at p = 1, where these lead to
 * vertices, also from the kernel itself. */
static nadir_status try_larger(multistart *self, double radius, const nadir_candidate *larger)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *start = NULL;
    NADIR_CHECK(try_values(self, larger->v, larger->d));
    NADIR_CHECK(try_values(self, self->problem->v, larger->d));
    NADIR_CHECK(try_values(self, larger->v, self->problem->d));
    if (self->problem->uncertainty->p == 1) {
        NADIR_CHECK(shrink(self, larger->kernel, radius, self->beta, &start));
        NADIR_CHECK(try_kernel(self, start));
    }
cleanup:
    nadir_kernel_free(start);
    return status;
}

/* The worst kernel of the ball of a rung, from that of the rung before, and if `cold` from the nominal kernel,
 * too. larger: that of the rung before, replaced; of zeros: there is none. */
static nadir_status find_larger(multistart *self, int rung, bool cold, nadir_candidate *larger)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_multistart_plan *plan = self->plan;
    const nadir_problem *problem = self->problem;
    const double radius = self->beta * plan->factors[rung];
    nadir_kernel *start = NULL;
    nadir_candidate found[2] = {{0}, {0}};
    int worst = 0;
    if (larger->kernel == NULL || cold) {
        NADIR_CHECK(nadir_frank_wolfe_from(context, self->search, radius, problem->v, problem->d, plan->rough,
                                           plan->steps, &found[0]));
    }
    if (larger->kernel != NULL && problem->uncertainty->p == 1) {
        NADIR_CHECK(shrink(self, larger->kernel, self->beta * plan->factors[rung - 1], radius, &start));
        NADIR_CHECK(
            nadir_frank_wolfe_run(context, problem, radius, start, plan->rough, plan->steps, &found[1]));
    } else if (larger->kernel != NULL) {
        NADIR_CHECK(nadir_frank_wolfe_from(context, self->search, radius, larger->v, larger->d, plan->rough,
                                           plan->steps, &found[1]));
    }
    worst = found[0].kernel == NULL || (found[1].kernel != NULL && found[1].J <= found[0].J);
    nadir_candidate_clear(context, larger);
    *larger = found[worst];
    found[worst] = (nadir_candidate){0};
cleanup:
    nadir_candidate_clear(context, &found[0]);
    nadir_candidate_clear(context, &found[1]);
    nadir_kernel_free(start);
    return status;
}

static nadir_status try_rows(multistart *self);

/* The worst kernel of a larger ball from states and rows, too. */
static nadir_status widen(const multistart *self, double radius, nadir_candidate *larger)
{
    multistart inner = *self;
    inner.beta = radius;
    inner.tolerance = self->plan->rough;
    inner.iterations_limit = self->plan->steps;
    inner.candidate = larger;
    NADIR_TRY(try_states(&inner, self->problem->d));
    return try_rows(&inner);
}

/* From worst kernels of larger balls, the largest first, and from states with the occupancy of the last. */
static nadir_status descend(multistart *self, int first, bool cold)
{
    nadir_status status = NADIR_OK;
    nadir_candidate larger = {0};
    for (int rung = first; rung < self->plan->rungs; rung++) {
        NADIR_CHECK(find_larger(self, rung, cold, &larger));
        NADIR_CHECK(cold && rung % self->plan->wide == 0
                        ? widen(self, self->beta * self->plan->factors[rung], &larger)
                        : NADIR_OK);
        NADIR_CHECK(try_larger(self, self->beta * self->plan->factors[rung], &larger));
    }
    NADIR_CHECK(larger.d != NULL ? try_states(self, larger.d) : NADIR_OK);
cleanup:
    nadir_candidate_clear(self->context, &larger);
    return status;
}

/* ------------------------------------------------------------------------------------------- rows */

/* The rows whose answers gain, those that gain most first; at most as many as planned. struck: [rows]. */
static int64_t sort_rows(const multistart *self, const nadir_lmo_solution *answers, ranked *struck)
{
    const nadir_problem *problem = self->problem;
    const nadir_model *model = problem->model;
    int64_t count = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double gain = problem->d[s] * problem->policy->probabilities[row] * answers[row].gain;
            struck[count] = (ranked){-gain, row};
            count += gain > 0;
        }
    }
    qsort(struck, (size_t)count, sizeof *struck, by_number);
    return count < self->plan->rows ? count : self->plan->rows;
}

/* From the answers of one row after another. Norm 1 has no engine: all rows are here. */
static nadir_status strike_rows(multistart *self, const nadir_lmo_rectangular *lmo)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    ranked *struck = NULL;
    nadir_lmo_solution *alone = NULL;
    nadir_kernel *start = NULL;
    NADIR_NEW(context, struck, self->problem->rows);
    NADIR_NEW_ZERO(context, alone, self->problem->rows);
    const int64_t count = sort_rows(self, lmo->solutions, struck);
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = struck[i].index;
        alone[row] = lmo->solutions[row];
        NADIR_CHECK(nadir_lmo_kernel(context, &lmo->rows, alone, &start));
        alone[row] = (nadir_lmo_solution){0};
        NADIR_CHECK(try_kernel(self, start));
    }
cleanup:
    nadir_kernel_free(start);
    nadir_release(context, alone);
    nadir_release(context, struck);
    return status;
}

/* From the kernel where all rows answer to the nominal value, each with the whole ball, moved into the ball; and
 * at p = 1 from those where one row does, in which the ball is used up. */
static nadir_status try_rows(multistart *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    nadir_uncertainty set = *self->problem->uncertainty;
    nadir_problem each = *self->problem;
    nadir_lmo_rectangular lmo = {0};
    nadir_lagrangian all = {0};
    nadir_kernel *start = NULL;
    set.set = NADIR_SET_SA;
    each.uncertainty = &set;
    NADIR_CHECK(nadir_lmo_rectangular_make(context, &each, self->beta / set.radius, &lmo));
    NADIR_CHECK(nadir_lmo_rectangular_solve(context, &lmo, each.v));
    NADIR_CHECK(nadir_lmo_rectangular_kernel(context, &lmo, &all.kernel));
    for (int64_t row = 0; row < each.rows; row++) {
        all.distance += nadir_power(lmo.solutions[row].norm / self->beta, set.p); /* of norms at most beta */
    }
    all.distance = self->beta * nadir_power(nadir_allreduce_sum(context, all.distance), 1 / set.p);
    if (set.p != 1) { /* searches have solutions of their own, and these are large */
        nadir_lmo_rectangular_clear(context, &lmo);
    }
    NADIR_CHECK(nadir_lagrangian_kernel_in_ball(context, self->problem, self->beta, &all, &start));
    NADIR_CHECK(try_kernel(self, start));
    NADIR_CHECK(set.p == 1 ? strike_rows(self, &lmo) : NADIR_OK);
cleanup:
    nadir_kernel_free(start);
    nadir_lagrangian_clear(context, &all);
    nadir_lmo_rectangular_clear(context, &lmo);
    return status;
}

nadir_status nadir_multistart_further(nadir_context *context, const nadir_problem *problem, double beta,
                                      const nadir_multistart_plan *plan, double tolerance,
                                      int64_t iterations_limit, nadir_candidate *candidate, bool *better)
{
    nadir_status status = NADIR_OK;
    multistart self = {.context = context,
                       .problem = problem,
                       .beta = beta,
                       .tolerance = tolerance,
                       .iterations_limit = iterations_limit,
                       .plan = plan,
                       .candidate = candidate};
    NADIR_CHECK(nadir_frank_wolfe_create(context, problem, &self.search));
    NADIR_CHECK(try_values(&self, problem->v, problem->d));
    NADIR_CHECK(plan->again < plan->rungs ? descend(&self, plan->again, true) : NADIR_OK);
    NADIR_CHECK(descend(&self, 0, false));
    NADIR_CHECK(try_rows(&self));
cleanup:
    nadir_frank_wolfe_free(context, self.search);
    *better = self.better;
    return status;
}

/* The multiplier at which moving a row by beta gains what it costs, in a state with all of the occupancy. */
static double price_scale(const nadir_problem *problem, double beta)
{
    const double p = problem->uncertainty->p;
    double low = INFINITY;
    double high = -INFINITY;
    for (int64_t s = 0; s < problem->states; s++) {
        low = fmin(low, problem->v[s]);
        high = fmax(high, problem->v[s]);
    }
    const nadir_landing *landing = &problem->model->landing;
    const double paid = problem->landing != 0 ? landing->e_high - landing->e_low : 0;
    return (problem->gamma * (high - low) + paid) / (1 - problem->gamma) / (p * pow(beta, p - 1));
}

nadir_status nadir_multistart_missed(nadir_context *context, const nadir_problem *problem, double beta,
                                     double tolerance, int64_t iterations_limit, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    double *d_bar = NULL;
    bool misses;
    bool better;
    NADIR_CHECK(misses_states(context, problem, candidate->d, &misses));
    if (!misses) {
        goto cleanup;
    }
    NADIR_CHECK(nadir_model_check_one_process(
        context, problem->model, "models with states that the ball can reach and the worst kernel does not"));
    NADIR_NEW(context, d_bar, problem->states);
    for (int64_t s = 0; s < problem->states; s++) {
        d_bar[s] = 1 / (1 - problem->gamma);
    }
    const double scale = price_scale(problem, beta);
    for (size_t i = 0; i < sizeof prices / sizeof *prices && scale > 0 && isfinite(scale); i++) {
        nadir_lagrangian lagrangian = {0};
        status = nadir_lagrangian_solve(context, problem, beta, d_bar, prices[i] * scale, &lagrangian);
        if (status == NADIR_OK) {
            status = nadir_multistart_again(context, problem, beta, &lagrangian, tolerance, iterations_limit,
                                            candidate, &better);
        }
        nadir_lagrangian_clear(context, &lagrangian);
        NADIR_CHECK(status);
    }
cleanup:
    nadir_release(context, d_bar);
    return status;
}
