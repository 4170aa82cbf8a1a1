/*
 * return_draws.c: returns of one policy under many kernels of the posterior; see returns.h and kernel_draws.h.
 *
 * Few states: elimination without pivots, which is stable because I - gamma P is diagonally dominant by rows.
 * Many: iterations from the value of the mean kernel. With the residual rho of any x, and the occupancy d of the mean
 * kernel,
 *
 *     J = mu.x + d.rho + (d_P - d).rho,        |(d_P - d).rho| <= (max rho - min rho) / (1 - gamma),
 *
 * since d_P and d both sum to 1 / (1 - gamma): the first two terms are the return, and the last bound is what ends the
 * iteration. x <- x + rho shrinks it as fast as the kernel mixes, faster than gamma; where that is slow BiCGSTAB (van
 * der Vorst, 1992) goes on. Lanes that miss the bound are drawn again and solved by the library's solver, one at a time.
 */
#include "fit/kernel_draws.h"
#include "linalg/threads.h"
#include "model/policy.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { DENSE_STATES = 48, SWEEPS = 40, ITERATIONS = 400, RESTART = 50 };

/* The work space of a thread. */
typedef struct work {
    nadir_drawn drawn;
    nadir_lanes *x;       /* [states] */
    nadir_lanes *room[6]; /* [states] each */
    nadir_lanes *dense;   /* [states * states] */
    unsigned char *there; /* [states * states] where the matrix is not zero */
} work;

/* ---- Few states: elimination ------------------------------------------------------------------------- */

static void assemble(const nadir_draw_plan *self, work *use)
{
    const int64_t S = self->states;
    const double gamma = self->problem->model->discount;
    memset(use->dense, 0, (size_t)(S * S) * sizeof *use->dense);
    memset(use->there, 0, (size_t)(S * S));
    for (int64_t s = 0; s < S; s++) {
        use->there[s * S + s] = 1;
        use->dense[s * S + s] += 1;
        for (int64_t e = self->state_entries[s]; e < self->state_entries[s + 1]; e++) {
            const int64_t at = s * S + self->columns[e];
            use->there[at] = 1;
            use->dense[at] -= gamma * use->drawn.values[e];
        }
    }
    for (int64_t i = 0; i < use->drawn.extra_count; i++) {
        const nadir_drawn_extra *own = &use->drawn.extras[i];
        const int64_t at = own->state * S + own->column;
        use->there[at] = 1;
        use->dense[at][own->lane] -= gamma * own->value;
    }
}

/* R <- (I - gamma P)^-1 R */
static void eliminate(const nadir_draw_plan *self, work *use)
{
    const int64_t S = self->states;
    assemble(self, use);
    for (int64_t k = 0; k < S; k++) {
        const nadir_lanes *pivot = &use->dense[k * S];
        for (int64_t i = k + 1; i < S; i++) {
            nadir_lanes *row = &use->dense[i * S];
            if (!use->there[i * S + k]) {
                continue;
            }
            const nadir_lanes factor = row[k] / pivot[k];
            use->drawn.R[i] -= factor * use->drawn.R[k];
            for (int64_t j = k + 1; j < S; j++) {
                if (use->there[k * S + j]) {
                    use->there[i * S + j] = 1;
                    row[j] -= factor * pivot[j];
                }
            }
        }
    }
    for (int64_t i = S - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < S; j++) {
            if (use->there[i * S + j]) {
                use->drawn.R[i] -= use->dense[i * S + j] * use->drawn.R[j];
            }
        }
        use->drawn.R[i] /= use->dense[i * S + i];
    }
}

/* ---- Many states: iterations ------------------------------------------------------------------------- */

/* A quarter of the lanes: sums of whole lanes do not fit into the registers of every processor. */
typedef double quarter __attribute__((vector_size(2 * 8), aligned(8), may_alias));

/* y <- x - gamma P x */
static void multiply(const nadir_draw_plan *self, const work *use, const nadir_lanes *x, nadir_lanes *y)
{
    const double gamma = self->problem->model->discount;
    const quarter *values = (const quarter *)use->drawn.values;
    for (int64_t s = 0; s < self->states; s++) {
        quarter sum[4] = {{0}};
        for (int64_t e = self->state_entries[s]; e < self->state_entries[s + 1]; e++) {
            const quarter *p = values + 4 * e;
            const quarter *from = (const quarter *)&x[self->columns[e]];
            sum[0] += p[0] * from[0];
            sum[1] += p[1] * from[1];
            sum[2] += p[2] * from[2];
            sum[3] += p[3] * from[3];
        }
        for (int i = 0; i < 4; i++) {
            ((quarter *)&y[s])[i] = ((const quarter *)&x[s])[i] - gamma * sum[i];
        }
    }
    for (int64_t i = 0; i < use->drawn.extra_count; i++) {
        const nadir_drawn_extra *own = &use->drawn.extras[i];
        y[own->state][own->lane] -= gamma * own->value * x[own->column][own->lane];
    }
}

static void dot(int64_t count, const nadir_lanes *x, const nadir_lanes *y, nadir_lanes *sum)
{
    *sum = (nadir_lanes){0};
    for (int64_t s = 0; s < count; s++) {
        *sum += x[s] * y[s];
    }
}

/* low and high <- those of them and r */
static inline void widen(const nadir_lanes *r, nadir_lanes *low, nadir_lanes *high)
{
    for (int lane = 0; lane < NADIR_LANES; lane++) {
        (*low)[lane] = (*r)[lane] < (*low)[lane] ? (*r)[lane] : (*low)[lane];
        (*high)[lane] = (*r)[lane] > (*high)[lane] ? (*r)[lane] : (*high)[lane];
    }
}

/* max r - min r of each lane; the largest of all lanes. */
static double find_span(int64_t count, const nadir_lanes *r, nadir_lanes *span)
{
    nadir_lanes low = r[0];
    nadir_lanes high = r[0];
    double largest = 0;
    for (int64_t s = 1; s < count; s++) {
        widen(&r[s], &low, &high);
    }
    *span = high - low;
    for (int lane = 0; lane < NADIR_LANES; lane++) {
        largest = fmax(largest, (*span)[lane]);
    }
    return largest;
}

/* a / b, 0 where a lane has converged to the last bit. */
static void divide(const nadir_lanes *a, const nadir_lanes *b, nadir_lanes *quotient)
{
    for (int lane = 0; lane < NADIR_LANES; lane++) {
        const double q = (*a)[lane] / (*b)[lane];
        (*quotient)[lane] = isfinite(q) ? q : 0;
    }
}

/* r <- R - A x */
static void find_residual(const nadir_draw_plan *self, const work *use, nadir_lanes *r)
{
    multiply(self, use, use->x, r);
    for (int64_t s = 0; s < self->states; s++) {
        r[s] = use->drawn.R[s] - r[s];
    }
}

/* One step of BiCGSTAB; room: residual, shadow residual, p, v, q, t. */
static void step(const nadir_draw_plan *self, work *use, nadir_lanes *rho)
{
    const int64_t S = self->states;
    nadir_lanes *r = use->room[0], *shadow = use->room[1], *p = use->room[2], *v = use->room[3],
                *q = use->room[4], *t = use->room[5];
    nadir_lanes alpha, omega, beta, product;
    multiply(self, use, p, v);
    dot(S, shadow, v, &product);
    divide(rho, &product, &alpha);
    for (int64_t s = 0; s < S; s++) {
        q[s] = r[s] - alpha * v[s];
    }
    multiply(self, use, q, t);
    dot(S, t, q, &omega);
    dot(S, t, t, &product);
    divide(&omega, &product, &omega);
    for (int64_t s = 0; s < S; s++) {
        use->x[s] += alpha * p[s] + omega * q[s];
        r[s] = q[s] - omega * t[s];
    }
    dot(S, shadow, r, &product);
    divide(&product, rho, &beta);
    *rho = product;
    divide(&alpha, &omega, &product);
    beta *= product;
    for (int64_t s = 0; s < S; s++) {
        p[s] = r[s] + beta * (p[s] - omega * v[s]);
    }
}

/* x <- x + rho as long as that brings the span of rho within the limit in SWEEPS steps. Leaves rho in room[0]. */
static bool sweep(const nadir_draw_plan *self, work *use)
{
    nadir_lanes *rho = use->room[0];
    nadir_lanes span;
    double before = INFINITY;
    for (int i = 0; i < SWEEPS; i++) {
        find_residual(self, use, rho);
        const double now = find_span(self->states, rho, &span);
        if (now <= self->limit) {
            return true;
        }
        if (i > 2 && !(log(self->limit / now) > (SWEEPS - i) * log(now / before))) {
            return false;
        }
        before = now;
        for (int64_t s = 0; s < self->states; s++) {
            use->x[s] += rho[s];
        }
    }
    return false;
}

/* use->x from the value of the mean kernel towards (I - gamma P)^-1 R; its residual is left in room[0]. */
static void iterate(const nadir_draw_plan *self, work *use)
{
    nadir_lanes rho = {0};
    nadir_lanes span;
    for (int64_t s = 0; s < self->states; s++) {
        use->x[s] = self->measure->v[s] + (nadir_lanes){0};
    }
    for (int i = sweep(self, use) ? ITERATIONS : 0; i < ITERATIONS; i++) {
        if (i % RESTART == 0) {
            find_residual(self, use, use->room[0]);
            memcpy(use->room[1], use->room[0], (size_t)self->states * sizeof(nadir_lanes));
            memcpy(use->room[2], use->room[0], (size_t)self->states * sizeof(nadir_lanes));
            dot(self->states, use->room[1], use->room[0], &rho);
        }
        if (find_span(self->states, use->room[0], &span) <= self->limit) {
            find_residual(self, use, use->room[0]);
            break;
        }
        step(self, use, &rho);
    }
}

/* mu.x + d.rho of each lane; NaN where the span is too large. */
static void settle(const nadir_draw_plan *self, work *use, nadir_lanes *returns)
{
    const double *mu = self->problem->model->initial;
    const nadir_lanes *rho = use->room[0];
    nadir_lanes span;
    (void)find_span(self->states, rho, &span);
    *returns = (nadir_lanes){0};
    for (int64_t s = 0; s < self->states; s++) {
        *returns += mu[s] * use->x[s] + self->measure->d[s] * rho[s];
    }
    for (int lane = 0; lane < NADIR_LANES; lane++) {
        const bool known =
            span[lane] <= self->limit && isfinite((*returns)[lane]); /* a NaN hides from the span */
        (*returns)[lane] = known ? (*returns)[lane] : NAN;
    }
}

/* ---- All of them ------------------------------------------------------------------------------------- */

static void clear_work(nadir_context *context, work *use)
{
    nadir_drawn_clear(context, &use->drawn);
    NADIR_RELEASE(context, use->x, use->dense, use->there);
    for (int i = 0; i < 6; i++) {
        nadir_release(context, use->room[i]);
    }
}

static nadir_status make_work(const nadir_draw_plan *self, work *use)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    NADIR_CHECK(nadir_drawn_make(self, &use->drawn));
    if (self->states <= DENSE_STATES) {
        NADIR_NEW(context, use->dense, self->states * self->states);
        NADIR_NEW(context, use->there, self->states * self->states);
    } else {
        NADIR_NEW(context, use->x, self->states);
        for (int i = 0; i < 6; i++) {
            NADIR_NEW(context, use->room[i], self->states);
        }
    }
cleanup:
    return status;
}

static void solve_batch(const nadir_draw_plan *self, work *use, int64_t batch, nadir_lanes *returns)
{
    const double *mu = self->problem->model->initial;
    nadir_draw_batch(self, &use->drawn, batch);
    if (self->states > DENSE_STATES) {
        iterate(self, use);
        settle(self, use, returns);
        return;
    }
    eliminate(self, use);
    *returns = (nadir_lanes){0};
    for (int64_t s = 0; s < self->states; s++) {
        *returns += mu[s] * use->drawn.R[s];
    }
}

/* P^pi of one lane of the batch in `use`, as CSR. dense: [states] all zero, and again afterwards. */
static void write_lane(const nadir_draw_plan *self, const work *use, int lane, double *dense, int64_t *starts,
                       int32_t *columns, double *values, double *rewards)
{
    int64_t to = 0;
    for (int64_t s = 0; s < self->states; s++) {
        starts[s] = to;
        rewards[s] = use->drawn.R[s][lane];
        for (int64_t e = self->state_entries[s]; e < self->state_entries[s + 1]; e++) {
            dense[self->columns[e]] += use->drawn.values[e][lane];
        }
        for (int64_t i = 0; i < use->drawn.extra_count; i++) {
            const nadir_drawn_extra *own = &use->drawn.extras[i];
            dense[own->column] += own->state == s && own->lane == lane ? own->value : 0;
        }
        for (int64_t t = 0; t < self->states; t++) {
            if (dense[t] > 0) {
                columns[to] = (int32_t)t;
                values[to++] = dense[t];
                dense[t] = 0;
            }
        }
    }
    starts[self->states] = to;
}

/* One lane of the batch in `use` by the library's solver, as a model of one action. */
static nadir_status solve_lane(const nadir_draw_plan *self, const work *use, int lane, double *J)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const int64_t room = self->state_entries[self->states] + use->drawn.extra_count;
    nadir_model_data data;
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    nadir_nominal nominal = {.size = sizeof nominal};
    double *dense = NULL;
    double *values = NULL;
    double *rewards = NULL;
    int64_t *starts = NULL;
    int64_t *first = NULL;
    int32_t *columns = NULL;
    NADIR_NEW_ZERO(context, dense, self->states);
    NADIR_NEW(context, values, room);
    NADIR_NEW(context, rewards, self->states);
    NADIR_NEW(context, starts, self->states + 1);
    NADIR_NEW(context, first, self->states + 1);
    NADIR_NEW(context, columns, room);
    for (int64_t s = 0; s <= self->states; s++) {
        first[s] = s;
    }
    write_lane(self, use, lane, dense, starts, columns, values, rewards);
    nadir_model_data_default(&data);
    data.states = data.rows = self->states;
    data.discount = self->problem->model->discount;
    data.state_rows = first;
    data.row_starts = starts;
    data.columns = columns;
    data.probabilities = values;
    data.rewards = rewards;
    data.initial = self->problem->model->initial;
    NADIR_CHECK(nadir_model_create(context, &data, &model));
    NADIR_CHECK(nadir_policy_create_uniform(context, model, &policy));
    NADIR_CHECK(nadir_solver_create(context, model, policy, NULL, &solver));
    NADIR_CHECK(nadir_solver_nominal(context, solver, &nominal));
    *J = nominal.nominal_return;
cleanup:
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    NADIR_RELEASE(context, dense, values, rewards, starts, first, columns);
    return status;
}

/* The draws that the iterations left. */
static nadir_status solve_rest(const nadir_draw_plan *self, work *use, double *returns)
{
    int64_t drawn = -1;
    for (int64_t k = 0; k < self->draws->count; k++) {
        if (!isnan(returns[k])) {
            continue;
        }
        if (drawn != k / NADIR_LANES) {
            drawn = k / NADIR_LANES;
            nadir_draw_batch(self, &use->drawn, drawn);
        }
        NADIR_TRY(nadir_progress(self->context, "drawing kernels", (double)k / (double)self->draws->count));
        NADIR_TRY(solve_lane(self, use, (int)(k % NADIR_LANES), &returns[k]));
    }
    return NADIR_OK;
}

static nadir_status draw_all(const nadir_draw_plan *self, work *members, int threads, double *returns)
{
    nadir_status stopped = NADIR_OK;
    const int64_t count = self->draws->count;
    const int64_t batches = (count + NADIR_LANES - 1) / NADIR_LANES;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
    for (int64_t batch = 0; batch < batches; batch++) {
        if (nadir_progress_team(self->context, "drawing kernels", (double)batch / (double)batches,
                                &stopped)) {
            const int64_t first = batch * NADIR_LANES;
            nadir_lanes found;
            solve_batch(self, &members[omp_get_thread_num()], batch, &found);
            memcpy(returns + first, &found,
                   (size_t)(count - first < NADIR_LANES ? count - first : NADIR_LANES) * sizeof *returns);
        }
    }
    return stopped;
}

nadir_status nadir_return_draw(nadir_context *context, const nadir_return_problem *problem,
                               const nadir_policy *policy, const nadir_return_measure *measure,
                               const nadir_return_draws *draws, double *returns)
{
    nadir_status status = NADIR_OK;
    nadir_draw_plan self = {.context = context, .problem = problem, .measure = measure, .draws = draws};
    const int threads = nadir_threads_for(context, draws->count * problem->model->states * 100);
    work *members = NULL;
    NADIR_CHECK(nadir_draw_plan_make(policy->probabilities, &self));
    NADIR_NEW_ZERO(context, members, threads);
    for (int i = 0; i < threads; i++) {
        NADIR_CHECK(make_work(&self, &members[i]));
    }
    NADIR_CHECK(draw_all(&self, members, threads, returns));
    for (int i = 0; i < threads; i++) {
        if (members[i].drawn.failed) {
            NADIR_CHECK(nadir_fail(context, NADIR_ERROR_NOT_CONVERGED,
                                   "a row has more successors in a draw than any was expected to have"));
        }
    }
    NADIR_CHECK(solve_rest(&self, &members[0], returns));
cleanup:
    for (int i = 0; members != NULL && i < threads; i++) {
        clear_work(context, &members[i]);
    }
    nadir_release(context, members);
    nadir_draw_plan_clear(context, &self);
    return status;
}
