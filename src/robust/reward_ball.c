/*
 * reward_ball.c: robust evaluation with uncertain rewards: min over the kernels P of a ball, and over |D|_p <= rho, of
 * <R + D, x_P>, x_P(s, a) = d_P(s) pi(a|s). For a kernel the worst rewards are known:
 *
 *     min over D of <D, x_P> = -rho |x_P|_q,    D = -rho (x_P / |x_P|_q)^(q - 1).
 *
 * Attained: kernel and rewards in turn, each the worst for the other. Proven, with evaluations of fixed rewards as the only
 * oracle (T = 1 / (1 - gamma) = |x_P|_1):
 *
 *     p = infinity    |x_P|_1 = T: D = -rho everywhere is the worst for every kernel
 *     p = 1           |x_P|_inf is attained in one pair: the least of the evaluations with D = -rho e_i
 *     kernel known    |x|_q, with the residual of x
 *     otherwise       with low <= x_P <= high, by 2 S evaluations, and any k > 0: x^q is below its chord on [low, high], and
 *                     y^(1/q) <= k y + (1 - 1/q) (1 / (q k))^(1/(q - 1)), so that
 *                     -rho |x_P|_q >= <-rho k m, x_P> - rho (k sum c + (1 - 1/q) (1 / (q k))^(1/(q - 1)))
 *                     for the chords m x + c: an evaluation with the rewards R - rho k m
 */
#include "core/context.h"
#include "core/round.h"
#include "model/landing.h"
#include "model/policy.h"
#include "robust/robust.h"

#include <math.h>
#include <string.h>

/* Rounds of the search, its starts from single pairs, and pairs for p = 1, and states of chords at most. */
enum { ROUNDS = 30, STARTS = 12, PAIRS = 1000, STATES = 200 };
/* A function of the C library is off by this share at most. */
#define POWER_ERROR 1e-14

typedef struct question {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    const nadir_ball *ball;
    const nadir_solver_settings *solver;
    const nadir_robust_settings *settings;
    double rho, p, q;
    double total;       /* T */
    double *room;       /* [rows] */
    double *x;          /* [rows] of the kernel at hand */
    double *D;          /* [rows] */
    nadir_robust plain; /* with the rewards as they are */
} question;

void nadir_reward_ball_fill(nadir_reward_ball *rewards, size_t size)
{
    const nadir_reward_ball made = {.norm = 2};
    nadir_settings_give(rewards, size, &made, sizeof made);
}

/* The model with rewards + values, or, to `replace` them, with values; [rows]. */
static nadir_status pay(const question *self, const double *values, bool replace, nadir_model **paid)
{
    nadir_status status = NADIR_OK;
    double *landing = NULL;
    nadir_model_data data;
    nadir_model_data_default(&data);
    nadir_model_view(self->model, &data);
    for (int64_t row = 0; row < self->model->rows; row++) {
        self->room[row] = replace ? values[row] : data.rewards[row] + values[row];
    }
    if (!replace && data.transition_rewards != NULL) {
        const int64_t wide = data.dense != NULL ? data.states : 0;
        const int64_t count = wide > 0 ? data.rows * wide : data.row_starts[data.rows];
        NADIR_NEW(self->context, landing, count);
        for (int64_t row = 0; row < data.rows; row++) {
            const int64_t end = wide > 0 ? (row + 1) * wide : data.row_starts[row + 1];
            for (int64_t i = wide > 0 ? row * wide : data.row_starts[row]; i < end; i++) {
                landing[i] = data.transition_rewards[i] + values[row]; /* NaN stays */
            }
        }
    }
    data.rewards = self->room;
    data.transition_rewards = landing;
    status = nadir_model_borrow(self->context, &data, NULL, NULL, paid); /* the kernel outlives it */
cleanup:
    nadir_release(self->context, landing);
    return status;
}

static nadir_status evaluate(const question *self, const double *values, bool replace, bool best,
                             nadir_robust *result, nadir_worst **worst)
{
    nadir_status status = NADIR_OK;
    nadir_model *paid = NULL;
    nadir_solver *solver = NULL;
    nadir_robust_settings use;
    nadir_robust_settings_default(&use);
    if (self->settings != NULL) {
        (void)nadir_settings_copy(&use, sizeof use, self->settings);
    }
    use.optimistic = best;
    *result = (nadir_robust){.size = sizeof *result};
    NADIR_CHECK(pay(self, values, replace, &paid));
    NADIR_CHECK(nadir_solver_create(self->context, paid, self->policy, self->solver, &solver));
    status = nadir_solver_robust(self->context, solver, self->ball, &use, result, worst);
    status = status == NADIR_ERROR_NOT_CONVERGED && result->stop_reason != NULL ? NADIR_OK : status;
cleanup:
    nadir_solver_free(solver);
    nadir_model_free(paid);
    return status;
}

/* What rounding of rewards of this size can do to a return. */
static double slack_of(const question *self, double largest)
{
    return 4 * nadir_round_error(4) * largest * self->total;
}

static double largest_reward(const question *self, const double *values)
{
    nadir_model_data data;
    nadir_model_data_default(&data);
    nadir_model_view(self->model, &data);
    double largest = 0;
    for (int64_t row = 0; row < data.rows; row++) {
        const nadir_row entries = nadir_model_row(self->model, row);
        double own = fabs(data.rewards[row]);
        for (int64_t i = 0; entries.rewards != NULL && i < entries.count; i++) {
            own = isnan(entries.rewards[i]) ? own : fmax(own, fabs(entries.rewards[i]));
        }
        largest = fmax(largest, own + fabs(values[row]));
    }
    return largest;
}

/* |x|_q. */
static double norm_of(const question *self)
{
    double largest = 0;
    double sum = 0;
    for (int64_t row = 0; row < self->model->rows; row++) {
        largest = fmax(largest, fabs(self->x[row]));
    }
    for (int64_t row = 0; row < self->model->rows && largest > 0 && isfinite(self->q); row++) {
        sum += pow(fabs(self->x[row]) / largest, self->q);
    }
    return isinf(self->q) || largest == 0 ? largest : largest * pow(sum, 1 / self->q);
}

/* D for x, a little within its ball. */
static void answer(question *self)
{
    const double norm = norm_of(self);
    const double rho = self->rho * (1 - (double)(self->model->rows + 16) * 4 * POWER_ERROR);
    bool taken = false;
    for (int64_t row = 0; row < self->model->rows; row++) {
        const double share = norm > 0 ? fabs(self->x[row]) / norm : 0;
        self->D[row] = self->q == 1     ? -rho
                       : isinf(self->q) ? (share == 1 && !taken ? -rho : 0)
                                        : -rho * pow(share, self->q - 1);
        taken = taken || share == 1;
    }
}

/* x of a kernel. */
static nadir_status visit(question *self, nadir_model *kernel)
{
    nadir_status status = NADIR_OK;
    nadir_policy *own = NULL;
    nadir_solver *solver = NULL;
    NADIR_CHECK(nadir_policy_share(self->context, kernel, self->policy, &own));
    NADIR_CHECK(nadir_solver_create(self->context, kernel, own, self->solver, &solver));
    NADIR_CHECK(
        nadir_solver_occupancy(self->context, solver, self->x)); /* [states], spread from the last on */
    for (int64_t s = kernel->states; s-- > 0;) {
        const double d = self->x[s];
        for (int64_t row = kernel->state_rows[s + 1]; row-- > kernel->state_rows[s];) {
            self->x[row] = d * own->probabilities[row];
        }
    }
cleanup:
    nadir_solver_free(solver);
    nadir_policy_free(own);
    return status;
}

/* Kernel and rewards in turn, from the kernel at hand; keeps the best. */
static nadir_status search(question *self, nadir_robust *best, double *change, nadir_worst **kept)
{
    nadir_status status = NADIR_OK;
    nadir_worst *worst = NULL;
    nadir_model *kernel = NULL;
    double last = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        nadir_robust found;
        NADIR_CHECK(nadir_progress(self->context, "kernel and rewards in turn", -1));
        answer(self);
        NADIR_CHECK(evaluate(self, self->D, false, false, &found, &worst));
        const bool gains = found.robust_return < last - 1e-10 * fabs(last - self->plain.nominal_return);
        last = found.robust_return;
        if (found.robust_return < best->robust_return) {
            *best = found;
            memcpy(change, self->D, (size_t)self->model->rows * sizeof *change);
            nadir_worst_free(*kept);
            *kept = worst;
        } else {
            nadir_worst_free(worst);
        }
        worst = NULL;
        if ((!gains && round > 0) || *kept == NULL) {
            break;
        }
        NADIR_CHECK(nadir_worst_model(self->context, *kept, &kernel));
        NADIR_CHECK(visit(self, kernel));
        nadir_model_free(kernel);
        kernel = NULL;
    }
cleanup:
    nadir_model_free(kernel);
    nadir_worst_free(worst);
    return status;
}

/* The same with the change in one of the pairs that are taken most, which a large q calls for. */
static nadir_status search_pairs(question *self, nadir_robust *best, double *change, nadir_worst **kept)
{
    nadir_status status = NADIR_OK;
    const int64_t rows = self->model->rows;
    double *visits = NULL;
    NADIR_NEW(self->context, visits, rows);
    memcpy(visits, self->x, (size_t)rows * sizeof *visits);
    for (int i = 0; i < STARTS; i++) {
        int64_t most = 0;
        for (int64_t row = 1; row < rows; row++) {
            most = visits[row] > visits[most] ? row : most;
        }
        if (!(visits[most] > 0)) {
            break;
        }
        visits[most] = 0;
        memset(self->x, 0, (size_t)rows * sizeof *self->x);
        self->x[most] = 1;
        NADIR_CHECK(search(self, best, change, kept));
    }
cleanup:
    nadir_release(self->context, visits);
    return status;
}

/* ------------------------------------------------------------------------------------------------ bounds */

/* p = 1: all of the change in one pair. */
static nadir_status bound_by_pairs(question *self, int64_t pairs, double *lower, bool *proven)
{
    const double *pi = self->policy->probabilities;
    memset(self->D, 0, (size_t)self->model->rows * sizeof *self->D);
    *lower = pairs == 0 ? self->plain.lower_bound : INFINITY;
    for (int64_t row = 0; row < self->model->rows; row++) {
        nadir_robust found;
        if (pi[row] > 0) {
            self->D[row] = -self->rho;
            NADIR_TRY(evaluate(self, self->D, false, false, &found, NULL));
            *lower = fmin(*lower, found.lower_bound - slack_of(self, largest_reward(self, self->D)));
            *proven = *proven && strcmp(found.certificate, "none") != 0;
            self->D[row] = 0;
        }
    }
    return NADIR_OK;
}

/* The kernel is known: |x|_q for the x at hand, of the nominal kernel, and |mu - (I - gamma P^T) x|_1 T for its error. */
static nadir_status bound_known(question *self, double *lower)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    double *rest = NULL;
    double size = 0;
    double sum = 0;
    NADIR_NEW(self->context, rest, model->states);
    memcpy(rest, model->initial, (size_t)model->states * sizeof *rest);
    for (int64_t s = 0; s < model->states; s++) {
        double d = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            d += self->x[row];
        }
        rest[s] -= d;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            const double gone = model->discount * d * self->policy->probabilities[row];
            for (int64_t i = 0; i < entries.count; i++) {
                rest[nadir_row_column(&entries, i)] += gone * entries.values[i];
            }
            size += fabs(gone) + fabs(self->x[row]);
        }
        size += model->initial[s];
    }
    for (int64_t s = 0; s < model->states; s++) {
        sum += fabs(rest[s]);
    }
    /* x is d pi up to rounding; every entry of rest has a term of each row at most */
    const double error = (sum + nadir_round_error((double)model->rows + 64) * 2 * size) * self->total +
                         nadir_round_error(8) * size;
    const double norm =
        norm_of(self) * (1 + (double)(model->rows + 16) * POWER_ERROR) + nadir_round_up(error, 8);
    *lower = self->plain.lower_bound - nadir_round_up(self->rho * norm, 4);
    *lower = nadir_round_below(*lower, fabs(*lower) + fabs(self->plain.lower_bound), 4);
cleanup:
    nadir_release(self->context, rest);
    return status;
}

/* Occupancies of all kernels: the worst and the best case of a reward of 1 in each state. */
static nadir_status find_range(question *self, double *low, double *high, bool *proven)
{
    memset(self->D, 0, (size_t)self->model->rows * sizeof *self->D);
    for (int64_t s = 0; s < self->model->states; s++) {
        nadir_robust found[2];
        for (int best = 0; best < 2; best++) {
            for (int64_t row = self->model->state_rows[s]; row < self->model->state_rows[s + 1]; row++) {
                self->D[row] = 1;
            }
            NADIR_TRY(evaluate(self, self->D, true, best == 1, &found[best], NULL));
            *proven = *proven && strcmp(found[best].certificate, "none") != 0;
        }
        for (int64_t row = self->model->state_rows[s]; row < self->model->state_rows[s + 1]; row++) {
            self->D[row] = 0;
        }
        low[s] = fmax(0, found[0].lower_bound);
        high[s] = fmax(low[s], fmin(found[1].upper_bound, self->total));
    }
    return NADIR_OK;
}

/* x: of the kernel found. */
static nadir_status bound_by_chords(question *self, double *lower, bool *proven)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    const double q = self->q;
    const double norm = norm_of(self);
    const double k = norm > 0 ? pow(norm, 1 - q) / q : 0; /* any will do */
    double *low = NULL;
    double sum = 0;  /* of c, rounded upwards */
    double size = 0; /* of |c| */
    nadir_robust found;
    NADIR_NEW(self->context, low, 2 * model->states);
    double *high = low + model->states;
    NADIR_CHECK(find_range(self, low, high, proven));
    *lower = -INFINITY;
    if (!(k > 0) || !isfinite(k)) {
        goto cleanup;
    }
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double pi = self->policy->probabilities[row];
            const double a = nadir_round_down(low[s] * pi, 4);
            const double b = nadir_round_up(high[s] * pi, 4);
            const double at_a = pow(a, q);
            const double at_b = pow(b, q);
            const double m = b > a ? (at_b - at_a) / (b - a) : 0;
            const double c =
                fmax(at_a - m * a, at_b - m * b); /* the line is above at both ends, so between */
            self->D[row] = -self->rho * k * m;
            size += at_a + at_b + m * (a + b);
            sum += c;
        }
    }
    NADIR_CHECK(evaluate(self, self->D, false, false, &found, NULL));
    sum += size * (4 * POWER_ERROR + nadir_round_error((double)model->rows + 16));
    double cut = (1 - 1 / q) * pow(1 / (q * k), 1 / (q - 1));
    cut += cut * 4 * POWER_ERROR * (1 + 1 / (q - 1));
    const double lost = self->rho * (k * sum + cut);
    const double wide = self->rho * (k * size + cut);
    *lower = found.lower_bound - lost - slack_of(self, largest_reward(self, self->D)) -
             nadir_round_error(16) * (wide + fabs(found.lower_bound));
    *proven = *proven && strcmp(found.certificate, "none") != 0;
cleanup:
    nadir_release(self->context, low);
    return status;
}

/* At least J_low - rho T, as |x|_q <= |x|_1; and better where that is known. kernel: the worst found. */
static nadir_status bound(question *self, nadir_robust *best, const nadir_worst *worst)
{
    nadir_status status = NADIR_OK;
    nadir_model *kernel = NULL;
    double better = -INFINITY;
    bool proven = true;
    int64_t pairs = 0;
    const double crude = self->rho * self->total;
    double lower = self->plain.lower_bound - nadir_round_up(crude, 4);
    lower = nadir_round_below(lower, fabs(lower) + crude, 4);
    const char *name = "total-visits";
    for (int64_t row = 0; row < self->model->rows; row++) {
        pairs += self->policy->probabilities[row] > 0;
    }
    if (self->rho == 0) {
        better = self->plain.lower_bound;
        name = self->plain.bound;
    } else if (self->plain.radius == 0 && self->plain.domain != NADIR_DOMAIN_BOX) {
        NADIR_CHECK(visit(self, self->model));
        NADIR_CHECK(bound_known(self, &better));
        name = "known-kernel";
    } else if (isinf(self->q) && pairs <= PAIRS) {
        NADIR_CHECK(bound_by_pairs(self, pairs, &better, &proven));
        name = "pairs";
    } else if (self->q > 1 && isfinite(self->q) && self->model->states <= STATES && worst != NULL) {
        NADIR_CHECK(nadir_worst_model(self->context, worst, &kernel));
        NADIR_CHECK(visit(self, kernel));
        NADIR_CHECK(bound_by_chords(self, &better, &proven));
        name = better > lower ? "chords" : name;
    }
    best->lower_bound = fmax(lower, better);
    best->bound = name;
    if (!proven || strcmp(self->plain.certificate, "none") == 0) {
        best->certificate = "none";
    }
cleanup:
    nadir_model_free(kernel);
    return status;
}

/* ----------------------------------------------------------------------------------------------- the call */

static nadir_status check(question *self, const nadir_reward_ball *rewards)
{
    const nadir_model *model = self->model;
    const nadir_domain asked = self->ball != NULL && self->ball->domain != NADIR_DOMAIN_UNSAID
                                   ? self->ball->domain
                               : model->domain != NADIR_DOMAIN_UNSAID ? model->domain
                               : model->lower != NULL                 ? NADIR_DOMAIN_BOX
                                                                      : NADIR_DOMAIN_SIMPLEX;
    nadir_unseen unseen;
    double value;
    const nadir_reward_kind kind = nadir_model_rewards(model, &unseen, &value);
    const char *wrong = NULL;
    NADIR_TRY(nadir_model_check_one_process(self->context, model, "balls of rewards"));
    NADIR_TRY(nadir_value_check_model(self->context, model));
    if (!(rewards->radius >= 0) || isinf(rewards->radius) || !(rewards->norm >= 1)) {
        return nadir_fail(
            self->context, NADIR_ERROR_ARGUMENT,
            "the radius of the rewards is %g and their norm %g; expected 0 or more, and 1 to infinity",
            rewards->radius, rewards->norm);
    }
    if (self->settings != NULL && self->settings->optimistic) {
        wrong = "a ball of rewards has its worst case alone, not the best";
    } else if (!(model->discount < 1)) {
        wrong = "a ball of rewards needs a discount below 1";
    } else if (asked == NADIR_DOMAIN_FREE) {
        wrong = "a ball of rewards is for the domains simplex, support and box";
    } else if (asked == NADIR_DOMAIN_SIMPLEX &&
               (kind == NADIR_REWARDS_SEPARABLE || kind == NADIR_REWARDS_LANDING)) {
        wrong = "rewards are paid on landing, and those of new transitions are assumed: take domain support, "
                "or frozen "
                "rewards, with a ball of rewards";
    }
    return wrong == NULL ? NADIR_OK : nadir_fail(self->context, NADIR_ERROR_UNSUPPORTED, "%s", wrong);
}

static nadir_status run(question *self, nadir_robust *best, double *change, nadir_worst **worst)
{
    nadir_status status = NADIR_OK;
    nadir_worst *first = NULL;
    nadir_model *kernel = NULL;
    *best = (nadir_robust){.size = sizeof *best, .robust_return = INFINITY};
    memset(self->D, 0, (size_t)self->model->rows * sizeof *self->D);
    NADIR_CHECK(evaluate(self, self->D, false, false, &self->plain, &first));
    NADIR_CHECK(nadir_worst_model(self->context, first, &kernel));
    NADIR_CHECK(visit(self, kernel));
    NADIR_CHECK(search(self, best, change, worst));
    NADIR_CHECK(visit(self, self->model));
    NADIR_CHECK(search(self, best, change, worst));
    NADIR_CHECK(self->q > 1 && self->plain.radius > 0 ? search_pairs(self, best, change, worst) : NADIR_OK);
    if (self->q == 1) { /* exact, but that D is a little within its ball */
        nadir_robust found;
        for (int64_t row = 0; row < self->model->rows; row++) {
            self->D[row] = -self->rho;
        }
        NADIR_CHECK(evaluate(self, self->D, false, false, &found, NULL));
        const double lower = found.lower_bound - slack_of(self, largest_reward(self, self->D));
        best->certificate = found.certificate;
        best->lower_bound = lower;
        best->bound = found.bound;
    } else {
        NADIR_CHECK(bound(self, best, *worst));
    }
    best->upper_bound = nadir_round_above(best->upper_bound + slack_of(self, largest_reward(self, change)),
                                          fabs(best->upper_bound), 4);
    if (best->lower_bound > best->upper_bound) {
        status = nadir_fail(self->context, NADIR_ERROR_VERIFICATION,
                            "the bound %.17g is above the attained return %.17g", best->lower_bound,
                            best->robust_return);
        goto cleanup;
    }
    best->nominal_return = self->plain.nominal_return;
    best->penalty = best->nominal_return - best->robust_return;
    const double width = self->settings != NULL ? self->settings->width : 1e-6;
    const bool asked = self->settings == NULL || self->settings->certify != NADIR_CERTIFY_OFF;
    best->certified = asked && best->certificate != NULL && strcmp(best->certificate, "none") != 0 &&
                      best->upper_bound - best->lower_bound <= fmax(width * best->penalty, 0);
cleanup:
    nadir_worst_free(first);
    nadir_model_free(kernel);
    return status;
}

nadir_status nadir_rewards_robust(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                                  const nadir_ball *ball, const nadir_reward_ball *rewards,
                                  const nadir_solver_settings *solver, const nadir_robust_settings *settings,
                                  nadir_robust *result, double *change, nadir_worst **worst)
{
    nadir_status status = NADIR_OK;
    nadir_reward_ball use;
    nadir_robust_settings how;
    question self = {.context = context, .model = model, .ball = ball, .solver = solver, .settings = &how};
    nadir_robust best;
    nadir_worst *kept = NULL;
    double *found = NULL;
    nadir_reward_ball_default(&use);
    nadir_robust_settings_default(&how);
    if ((rewards != NULL && !nadir_settings_copy(&use, sizeof use, rewards)) ||
        (settings != NULL && !nadir_settings_copy(&how, sizeof how, settings))) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the settings is not set");
    }
    self.rho = use.radius;
    self.p = use.norm;
    self.q = isinf(use.norm) ? 1 : use.norm == 1 ? INFINITY : use.norm / (use.norm - 1);
    NADIR_CHECK(check(&self, &use));
    /* rows, and mu, sum to one up to rounding */
    const double rounding = nadir_round_error((double)model->states + 16);
    const double gap = 1 - model->discount - 2 * rounding;
    self.total = gap > 0 ? nadir_round_up((1 + rounding) / gap, 8) : INFINITY;
    NADIR_CHECK(nadir_policy_share(context, model, policy, &self.policy));
    NADIR_NEW(context, self.room, model->rows);
    NADIR_NEW(context, self.x, model->rows);
    NADIR_NEW(context, self.D, model->rows);
    NADIR_NEW_ZERO(context, found, model->rows);
    NADIR_CHECK(run(&self, &best, found, &kept));
    if (!nadir_result_copy(result, &best, sizeof best)) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the robust result is not set"));
    }
    if (change != NULL) {
        memcpy(change, found, (size_t)model->rows * sizeof *change);
    }
    if (worst != NULL) {
        *worst = kept;
        kept = NULL;
    }
cleanup:
    nadir_worst_free(kept);
    nadir_policy_free(self.policy);
    NADIR_RELEASE(context, self.room, self.x, self.D, found);
    return status;
}
