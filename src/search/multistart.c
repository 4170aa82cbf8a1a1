/*
 * multistart.c: Frank-Wolfe from several starts; see frank_wolfe.h.
 *
 * Most starts lead to kernels that are known. Further starts therefore race: each takes one step; those that
 * visit states as the candidate or a better racer does drop out, and so do those whose gap does not reach as far
 * as the candidate; in each round the best part of the others stays and takes more steps. One that falls below
 * the candidate is searched from to the end and replaces it.
 */
#include "search/frank_wolfe.h"

#include "linalg/distributed.h"
#include "model/landing.h"
#include "proof/perturbable_rows.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Multipliers tried where no bound on occupancies is at hand, as shares of the one at which the rows of a
 * state with all of the occupancy would use up the ball. */
static const double prices[] = {0.3, 0.03, 0.003};

/* Whether some kernel of the set reaches a state of occupancy zero. */
static nadir_status misses_states(nadir_context *context, const nadir_problem *problem, const double *d,
                                  bool *misses)
{
    nadir_status status = NADIR_OK;
    const double nothing = DBL_EPSILON * DBL_EPSILON / problem->rest;
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

/* Whether a search has found a kernel that is worse for the policy than the candidate by more than the
 * tolerance. */
static bool is_worse(const nadir_context *context, const nadir_problem *problem, double tolerance,
                     const nadir_candidate *other, const nadir_candidate *candidate)
{
    const double rounding = 64 * DBL_EPSILON * nadir_global_largest(context, problem->states, other->v);
    return other->J < candidate->J - tolerance * (problem->J - candidate->J) - rounding;
}

nadir_status nadir_multistart_again(nadir_context *context, const nadir_problem *problem, double beta,
                                    const nadir_lagrangian *lagrangian, double tolerance,
                                    int64_t iterations_limit, nadir_candidate *candidate, bool *better)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *start = NULL;
    nadir_candidate other = {0};
    NADIR_CHECK(nadir_lagrangian_kernel_in_ball(context, problem, beta, lagrangian, &start));
    NADIR_CHECK(nadir_frank_wolfe_run(context, problem, beta, start, tolerance, iterations_limit, &other));
    *better = is_worse(context, problem, tolerance, &other, candidate);
    other.iterations += candidate->iterations;
    candidate->iterations = other.iterations;
    if (*better) {
        nadir_candidate_clear(context, candidate);
        *candidate = other;
        other = (nadir_candidate){0};
    }
cleanup:
    nadir_candidate_clear(context, &other);
    nadir_kernel_free(start);
    return status;
}

/* ------------------------------------------------------------------------------------- further starts */

/* Radii of larger balls over that of the ball, falling. */
static const double larger_radii[] = {100, 4, 2.8, 2, 1.4, 1.2};

/* Further starts take at most TIMES as many kernels as the searches before, or FEWEST on up to SMALL states.
 * Chosen with the other numbers here on 256 garnets (p = 2) and 120 (p = 1): docs/benchmarks.md. */
enum {
    TIMES = 2,
    FEWEST = 200,
    SMALL = 200,
    LARGER_STEPS = 4, /* of a search in a larger ball */
    RACERS = 24,      /* kept after their first step; and states that starts lead to */
    IDLE = 8          /* starts in a row that bring nothing new: the end */
};
/* Occupancies that differ by less than this share are taken to be those of one local optimum. */
#define APART 0.005
/* A search may lower the return by this multiple of its gap. */
#define REACH 20
/* Tolerance of the first steps, and of searches in larger balls. */
#define ROUGH 1e-3
/* Tolerance in a race; the share of racers that stays in each round, and what steps are multiplied by. */
#define RACE_TOLERANCE 1e-6
#define STAY           0.7
#define LONGER         1.5

/* Starts that race against each other. */
typedef struct multistart {
    nadir_context *context;
    const nadir_problem *problem;
    double beta, tolerance;
    int64_t iterations_limit;
    int64_t limit;             /* of kernels evaluated */
    nadir_frank_wolfe *search; /* of all racers */
    nadir_candidate *candidate;
    bool better;
    int idle;                       /* starts since the last one that brought something new */
    int count;                      /* of racers */
    nadir_candidate racers[RACERS]; /* by rising return */
} multistart;

static bool has_ended(const multistart *self)
{
    return self->search->evaluations >= self->limit;
}

static bool are_close(const multistart *self, const nadir_candidate *a, const nadir_candidate *b)
{
    double apart = 0;
    for (int64_t s = 0; s < self->problem->states; s++) {
        apart += fabs(a->d[s] - b->d[s]);
    }
    return apart * self->problem->rest <= APART;
}

/* Searches on to the end from a racer that is worse than the candidate, and makes it the candidate. Steps of a race
 * may be inexact: its return is computed anew first. */
static nadir_status finish(multistart *self, nadir_candidate *racer)
{
    nadir_status status = NADIR_OK;
    const bool rough = self->search->rough;
    nadir_frank_wolfe_point exact = {racer->kernel, racer->v, racer->d, racer->J};
    self->search->rough = false;
    self->search->vertices = false;
    NADIR_CHECK(rough ? nadir_frank_wolfe_evaluate(self->context, self->search, NULL, &exact) : NADIR_OK);
    racer->J = exact.J;
    if (is_worse(self->context, self->problem, self->tolerance, racer, self->candidate)) {
        racer->iterations = self->candidate->iterations;
        NADIR_CHECK(nadir_frank_wolfe_continue(self->context, self->search, self->beta, self->tolerance,
                                               self->candidate->iterations + self->iterations_limit, racer));
        nadir_candidate_clear(self->context, self->candidate);
        *self->candidate = *racer;
        *racer = (nadir_candidate){0};
        self->better = true;
        self->idle = 0;
    }
cleanup:
    self->search->rough = rough;
    self->search->vertices = true;
    return status;
}

/* Puts a racer in its place, for one that is like it and behind it, or for the last one if there is no room. */
static void insert(multistart *self, nadir_candidate *racer)
{
    nadir_candidate *racers = self->racers;
    int place = 0;
    while (place < self->count && racers[place].J <= racer->J) {
        if (are_close(self, &racers[place++], racer)) {
            return;
        }
    }
    int leaves = place;
    while (leaves < self->count && !are_close(self, &racers[leaves], racer)) {
        leaves++;
    }
    if (leaves == RACERS) {
        leaves--;
    }
    if (place > leaves) {
        return;
    }
    self->count += leaves == self->count;
    nadir_candidate_clear(self->context, &racers[leaves]);
    memmove(racers + place + 1, racers + place, (size_t)(leaves - place) * sizeof *racers);
    racers[place] = *racer;
    *racer = (nadir_candidate){0};
    self->idle = 0;
}

/* Takes a racer in, unless it is like the candidate or another one that is ahead. It is cleared. */
static nadir_status take_in(multistart *self, nadir_candidate *racer)
{
    nadir_status status = NADIR_OK;
    if (is_worse(self->context, self->problem, self->tolerance, racer, self->candidate)) {
        NADIR_CHECK(finish(self, racer));
    } else if (!are_close(self, self->candidate, racer)) {
        insert(self, racer);
    }
cleanup:
    nadir_candidate_clear(self->context, racer);
    return status;
}

/* A start: the solution of the linear problem at v and d, [states] each. */
static nadir_status enter(multistart *self, const double *v, const double *d)
{
    nadir_candidate racer = {0};
    if (has_ended(self) || self->idle > IDLE) {
        return NADIR_OK;
    }
    self->idle++;
    NADIR_TRY(nadir_frank_wolfe_from(self->context, self->search, self->beta, v, d, ROUGH, 1, &racer));
    return take_in(self, &racer);
}

/* From values and occupancies under the worst kernels of larger balls, the largest first. */
static nadir_status enter_larger(multistart *self)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    nadir_candidate larger = {0};
    for (size_t i = 0; i < sizeof larger_radii / sizeof *larger_radii && !has_ended(self); i++) {
        nadir_candidate next = {0};
        NADIR_CHECK(nadir_frank_wolfe_from(self->context, self->search, larger_radii[i] * self->beta,
                                           i > 0 ? larger.v : problem->v, i > 0 ? larger.d : problem->d,
                                           ROUGH, LARGER_STEPS, &next));
        nadir_candidate_clear(self->context, &larger);
        larger = next;
        NADIR_CHECK(enter(self, larger.v, larger.d));
        NADIR_CHECK(enter(self, problem->v, larger.d));
        NADIR_CHECK(enter(self, larger.v, problem->d));
    }
cleanup:
    nadir_candidate_clear(self->context, &larger);
    return status;
}

/* A state with its value. */
typedef struct ranked {
    double value;
    int64_t state;
} ranked;

static int by_value(const void *left, const void *right)
{
    const ranked *a = left;
    const ranked *b = right;
    return a->value != b->value ? (a->value > b->value) - (a->value < b->value)
                                : (a->state > b->state) - (a->state < b->state);
}

/* From kernels that lead to one state, those of low values first: all rows, by the occupancy of the candidate, or
 * those of the state itself, so that it becomes a trap. */
static nadir_status enter_states(multistart *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const int64_t states = self->problem->states;
    ranked *order = NULL;
    double *v = NULL;
    double *d = NULL;
    NADIR_NEW(context, order, states);
    NADIR_NEW(context, v, states);
    NADIR_NEW_ZERO(context, d, states);
    for (int64_t s = 0; s < states; s++) {
        order[s] = (ranked){self->problem->v[s], s};
        v[s] = 1;
    }
    qsort(order, (size_t)states, sizeof *order, by_value);
    for (int64_t i = 0; i < states && i < RACERS; i++) {
        const int64_t to = order[i].state;
        v[to] = 0;
        d[to] = 1;
        NADIR_CHECK(enter(self, v, self->candidate->d));
        NADIR_CHECK(enter(self, v, d));
        v[to] = 1;
        d[to] = 0;
    }
cleanup:
    nadir_release(context, order);
    nadir_release(context, v);
    nadir_release(context, d);
    return status;
}

/* Whether a racer will not pass the candidate. */
static bool gives_up(const multistart *self, const nadir_candidate *racer)
{
    return !is_worse(self->context, self->problem, self->tolerance, racer, self->candidate) &&
           (racer->stop != NADIR_STOP_ITERATIONS || racer->J - REACH * racer->gap > self->candidate->J);
}

/* One round: all racers go on for so many steps. */
static nadir_status run_round(multistart *self, int64_t steps)
{
    nadir_status status = NADIR_OK;
    nadir_candidate racers[RACERS];
    const int before = self->count;
    memcpy(racers, self->racers, sizeof racers);
    memset(self->racers, 0, sizeof racers);
    self->count = 0;
    for (int i = 0; i < before && !has_ended(self); i++) {
        NADIR_CHECK(nadir_frank_wolfe_continue(self->context, self->search, self->beta, RACE_TOLERANCE,
                                               racers[i].iterations + steps, &racers[i]));
        NADIR_CHECK(gives_up(self, &racers[i]) ? NADIR_OK : take_in(self, &racers[i]));
    }
cleanup:
    for (int i = 0; i < before; i++) {
        nadir_candidate_clear(self->context, &racers[i]);
    }
    return status;
}

nadir_status nadir_multistart_further(nadir_context *context, const nadir_problem *problem, double beta,
                                      double tolerance, int64_t iterations_limit, nadir_candidate *candidate,
                                      bool *better)
{
    nadir_status status = NADIR_OK;
    const int64_t fewest = problem->states <= SMALL ? FEWEST : 0;
    multistart self = {.context = context,
                       .problem = problem,
                       .beta = beta,
                       .tolerance = tolerance,
                       .iterations_limit = iterations_limit,
                       .limit = TIMES * candidate->iterations,
                       .candidate = candidate};
    self.limit = self.limit > fewest ? self.limit : fewest;
    NADIR_CHECK(nadir_frank_wolfe_create(context, problem, &self.search));
    self.search->rough = problem->model->dense != NULL;
    self.search->vertices = true;
    NADIR_CHECK(enter_larger(&self));
    NADIR_CHECK(enter_states(&self));
    double steps = 1;
    while (self.count > 0 && !has_ended(&self)) {
        const int stay = (int)(STAY * (self.count + 1));
        NADIR_CHECK(run_round(&self, (int64_t)steps));
        while (self.count > stay) {
            nadir_candidate_clear(context, &self.racers[--self.count]);
        }
        steps = ceil(LONGER * steps);
    }
cleanup:
    for (int i = 0; i < self.count; i++) {
        nadir_candidate_clear(context, &self.racers[i]);
    }
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
    return (problem->gamma * (high - low) + paid) / problem->rest / (p * pow(beta, p - 1));
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
        d_bar[s] = 1 / problem->rest;
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
