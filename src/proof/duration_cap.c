/*
 * duration_cap.c: without a discount, bounds on how long kernels of the non-rectangular ball last and how often they
 * visit each state, where the rectangular set of the same radius is too large to say it.
 *
 * Let every kernel of the ball with d_P <= b and sum d_P <= N have d_P <= g < b and sum d_P <= G < N. Then all kernels of
 * the ball have: P_t = Phat + t (P - Phat) ends for t < 1, since Phat does and has a share in it, so that its
 * occupancy is continuous, begins below b and cannot pass from g to b; and that of P is at most their limit. g and G are
 * those of occupancy_bounds.h around the nominal kernel, for the columns of D and for D1; G also of the Lagrangian bound
 * with the reward -1 in every step, which takes b for d_bar.
 *
 * A box that does not hold is tried from below: b is raised to a little more than g until g < b, or N is hopeless.
 */
#include "core/round.h"
#include "linalg/vector.h"
#include "proof/bellman_bound.h"
#include "proof/occupancy_bounds.h"
#include "proof/termination.h"
#include "sets/lmo_by_state.h"

#include <math.h>
#include <string.h>

/* Columns of D for more states than this take too long. */
enum { STATES_MOST = 1000 };
/* Boxes that are tried; raised by this share more than needed; durations times the nominal one beyond which nothing is
 * looked for; products with D for each Lagrangian bound. */
enum { BOXES = 120, PRODUCTS = 6 };
#define MARGIN     1e-3
#define LONG       1e3
#define PRICE_STEP 1.25
#define TAU_MOST   1e280 /* at the start: it may be raised with every box */

typedef struct cap {
    nadir_problem problem; /* of rewards -1 */
    double beta, radius;   /* of the ball; of the L_2 ball around it */
    nadir_perturbable_rows rows;
    nadir_expansion_point point;
    nadir_sensitivity sensitivity;
    nadir_occupancy_bounds box; /* b and N; low is 0 */
    double *up;                 /* [states * states] k(s, De_t)^2, occupancy_bounds.h */
    double *h2;                 /* [states] k(s, D1)^2 */
    double *slope;              /* [states] */
    double *g;                  /* [states] */
    double *value;              /* [states] work space */
    double *v;                  /* [states] of the Lagrangian bound */
    double *rewards;            /* [rows] -1, or a little less */
    double duration, off;       /* mu . D1; the error of sum d_P by it */
    double tau;                 /* of the last Lagrangian bound; 0: none is made */
    double turn;                /* what tau is multiplied by next */
} cap;

static void finish(nadir_context *context, cap *self)
{
    nadir_sensitivity_clear(context, &self->sensitivity);
    nadir_expansion_point_clear(context, &self->point);
    nadir_perturbable_rows_clear(context, &self->rows);
    nadir_occupancy_bounds_clear(context, &self->box);
    NADIR_RELEASE(context, self->up, self->h2, self->rewards);
}

/* D1, as centre_column of perturbable_rows.c does it for columns of D: k(s, D1)^2, mu . D1 and its error. */
static nadir_status take_durations(nadir_context *context, cap *self)
{
    const int64_t n = self->problem.states;
    nadir_solve_error known;
    double error;
    double *x = self->slope;
    for (int64_t s = 0; s < n; s++) {
        self->value[s] = 1;
    }
    NADIR_TRY(nadir_verified_solve(context, &self->point.problem, &self->point.known, false, self->value, 0,
                                   NULL, 0, x, &known));
    for (int64_t s = 0; s < n; s++) {
        self->v[s] = -x[s];
    }
    self->duration = nadir_vector_dot(n, self->problem.mu, x, &error);
    const double whole = nadir_vector_largest(n, x);
    const double mean = nadir_vector_sum(n, x) / (double)n;
    for (int64_t s = 0; s < n; s++) {
        x[s] -= mean;
    }
    const double rest = nadir_vector_largest(n, x);
    const double moved = nadir_round_error(2) * rest + self->point.sum_off * (whole + 2 * rest);
    self->off = nadir_round_up(self->point.total * (known.residual + 2 * moved) + error, 8);
    return nadir_sensitivity_tables(context, &self->sensitivity, 1, x, self->h2,
                                    self->sensitivity.symmetric ? NULL : self->g);
}

/* most: sum d_P of kernels that are looked at. */
static nadir_status begin(nadir_context *context, const nadir_problem *problem, double factor, double most,
                          cap *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const nadir_uncertainty *set = problem->uncertainty;
    double *down = NULL; /* not used: bounds are from above */
    self->problem = *problem;
    self->problem.gap = nadir_round_down(1 / most, 4);
    self->problem.most = NULL;
    self->problem.landing = 0;
    self->beta = factor * set->radius;
    self->radius = set->p <= 2 ? self->beta
                               : nadir_round_up(self->beta * pow((double)set->entries, 0.5 - 1 / set->p),
                                                NADIR_PROOF_ROUNDINGS);
    NADIR_NEW(context, self->up, n * n);
    NADIR_NEW(context, self->h2, 5 * n);
    self->slope = self->h2 + n;
    self->g = self->h2 + 2 * n;
    self->value = self->h2 + 3 * n;
    self->v = self->h2 + 4 * n;
    NADIR_CHECK(nadir_perturbable_rows_make(context, &self->problem, &self->rows));
    NADIR_CHECK(
        nadir_expansion_point_make(context, &self->problem, &self->rows, NULL, NULL, NULL, &self->point));
    NADIR_CHECK(nadir_expansion_point_columns(context, &self->point));
    /* rows that allow all states: exact tables take ten times as long and are seldom better */
    NADIR_CHECK(nadir_sensitivity_make(
        context, &self->rows, self->rows.columns != NULL ? self->point.X : NULL, &self->sensitivity));
    if (!self->sensitivity.symmetric) {
        NADIR_NEW(context, down, n * n);
    }
    NADIR_CHECK(nadir_sensitivity_tables(context, &self->sensitivity, n, self->point.D, self->up, down));
    NADIR_CHECK(take_durations(context, self));
    NADIR_CHECK(nadir_occupancy_bounds_make(context, &self->problem, &self->box));
cleanup:
    nadir_release(context, down);
    return status;
}

/* G by D1. */
static nadir_status bound_sum(nadir_context *context, cap *self, double *sum)
{
    double most;
    for (int64_t s = 0; s < self->problem.states; s++) {
        self->value[s] = self->box.high[s] * self->h2[s];
    }
    NADIR_TRY(nadir_occupancy_bounds_most(context, &self->box, self->value, &most));
    *sum = nadir_round_up(self->duration + self->off + self->radius * sqrt(most), 16);
    return NADIR_OK;
}

/* G by the Lagrangian bound with tau, v going on from that of the last bound. */
static nadir_status bound_sum_at(nadir_context *context, cap *self, double tau, double *sum)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem.states;
    nadir_lmo_penalized lmo = {0};
    double lower;
    self->problem.gap = nadir_round_down(1 / self->box.total, 4);
    self->problem.rewards = self->rewards;
    NADIR_CHECK(nadir_lmo_penalized_make(context, &self->problem, self->beta, self->box.high, &lmo));
    for (int step = 0; step < PRODUCTS; step++) {
        NADIR_CHECK(nadir_lmo_penalized_solve(context, &lmo, tau, self->v));
        for (int64_t s = 0; s < n; s++) {
            self->value[s] = -1 - lmo.taken[s];
        }
        NADIR_CHECK(nadir_occupancy_solve(context, self->problem.occupancy, 1, self->value, self->v, NULL));
    }
    NADIR_CHECK(
        nadir_lagrangian_bound(context, &self->problem, self->beta, self->box.high, tau, self->v, &lower));
    *sum = -lower;
cleanup:
    nadir_lmo_penalized_clear(context, &lmo);
    return status;
}

/* g and G of the box. */
static nadir_status respond(nadir_context *context, cap *self, double *sum)
{
    const int64_t n = self->problem.states;
    const double N = self->box.total;
    double moved;
    memcpy(self->g, self->box.high, (size_t)n * sizeof *self->g); /* `narrow` takes it down */
    NADIR_TRY(bound_sum(context, self, sum));
    if (self->tau > 0) {
        double here;
        double next;
        NADIR_TRY(bound_sum_at(context, self, self->tau, &here));
        NADIR_TRY(bound_sum_at(context, self, self->tau * self->turn, &next));
        self->turn = next < here ? self->turn : 1 / self->turn;
        self->tau *= next < here ? self->turn : 1;
        *sum = fmin(*sum, fmin(here, next));
    }
    NADIR_TRY(nadir_occupancy_bounds_narrow(context, &self->box, &self->point, self->up, NULL, NULL,
                                            self->radius, self->slope, &moved));
    memset(self->box.low, 0, (size_t)n * sizeof *self->box.low); /* `up` is for bounds from above alone */
    self->box.empty = false;
    self->box.total = N;
    memcpy(self->box.high, self->g, (size_t)n * sizeof *self->g);
    for (int64_t t = 0; t < n; t++) {
        const double most = self->point.d[t] + self->point.off[t] + self->radius * self->slope[t];
        self->g[t] = self->box.high[t] > 0 ? nadir_round_up(most, 8) : 0;
    }
    return NADIR_OK;
}

/* Boxes from below. *holds: the last one does. */
static nadir_status raise_box(nadir_context *context, cap *self, double most, bool *holds)
{
    const int64_t n = self->problem.states;
    *holds = false;
    self->box.total = 0;
    for (int64_t t = 0; t < n; t++) {
        const double d = (1 + MARGIN) * (self->point.d[t] + self->point.off[t]);
        self->box.high[t] = self->box.high[t] > 0 ? d : 0; /* 0: no kernel comes there */
        self->box.total += self->box.high[t];
    }
    for (int i = 0; i < BOXES && !*holds && self->box.total < most; i++) {
        double sum;
        NADIR_TRY(nadir_progress(context, "how long kernels last", -1));
        NADIR_TRY(respond(context, self, &sum));
        *holds = sum < self->box.total;
        self->box.total = *holds ? self->box.total : (1 + MARGIN) * sum;
        for (int64_t t = 0; t < n; t++) {
            if (self->box.high[t] > 0 && !(self->g[t] < self->box.high[t])) {
                *holds = false;
                self->box.high[t] = (1 + MARGIN) * self->g[t];
            }
        }
    }
    return NADIR_OK;
}

/* A box that holds, made smaller. */
static nadir_status narrow_box(nadir_context *context, cap *self)
{
    const int64_t n = self->problem.states;
    double gain = 1;
    for (int i = 0; i < NADIR_OCCUPANCY_PASSES && gain > NADIR_OCCUPANCY_SETTLED; i++) {
        double sum;
        NADIR_TRY(respond(context, self, &sum));
        gain = 1 - sum / self->box.total;
        self->box.total = fmin(self->box.total, sum);
        for (int64_t t = 0; t < n; t++) {
            self->box.high[t] = fmin(self->box.high[t], self->g[t]);
        }
    }
    return NADIR_OK;
}

/* Starts the Lagrangian bounds from what would be best if b were the nominal occupancy. */
static nadir_status take_price(nadir_context *context, cap *self)
{
    nadir_status status = NADIR_OK;
    const double p = self->problem.uncertainty->p;
    double square = 0;
    const double most = (double)nadir_model_most_actions(self->problem.model);
    NADIR_NEW(context, self->rewards, self->problem.rows);
    for (int64_t row = 0; row < self->problem.rows; row++) {
        self->rewards[row] =
            -1 - 2 * NADIR_SUM_ROUNDING - nadir_round_error(most); /* policies sum to one up to this */
    }
    for (int64_t s = 0; s < self->problem.states; s++) {
        square += self->point.d[s] * self->point.d[s] * self->h2[s];
    }
    const double tau = sqrt(square) / (p * pow(self->beta, p - 1));
    self->tau = tau < TAU_MOST ? tau : 0; /* p so large that powers of beta underflow */
    self->turn = PRICE_STEP;
cleanup:
    return status;
}

nadir_status nadir_duration_cap(nadir_context *context, nadir_problem *problem, double factor)
{
    nadir_status status = NADIR_OK;
    cap self = {0};
    bool holds;
    const int64_t n = problem->states;
    const double nominal = nadir_vector_sum(n, problem->d);
    const double most = fmin(LONG * nominal, problem->gap > 0 ? 1 / problem->gap : INFINITY);
    if (n > STATES_MOST || factor * problem->uncertainty->radius == 0) {
        return NADIR_OK;
    }
    NADIR_CHECK(begin(context, problem, factor, most, &self));
    NADIR_CHECK(raise_box(context, &self, most, &holds));
    if (!holds) {
        NADIR_CHECK(take_price(context, &self));
        NADIR_CHECK(raise_box(context, &self, most, &holds));
    }
    if (holds) {
        NADIR_CHECK(narrow_box(context, &self));
        NADIR_NEW(context, problem->most, n);
        memcpy(problem->most, self.box.high, (size_t)n * sizeof *problem->most);
        problem->gap = nadir_round_down(1 / self.box.total, 4);
    }
cleanup:
    finish(context, &self);
    return status;
}
