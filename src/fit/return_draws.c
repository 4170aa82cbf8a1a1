/*
 * return_draws.c: returns of one policy under many kernels of the posterior; see returns.h.
 *
 * Kernels are drawn and solved LANES at a time. They share their seen successors: matrices are arrays of lanes, and
 * every loop over an entry is one over its lanes, which compilers turn into vector instructions. Where many successors
 * are possible that were not seen, a kernel has few of them: these extras are listed, each with its lane.
 *
 * Few states: elimination without pivots, which is stable because I - gamma P is diagonally dominant by rows.
 * Many: BiCGSTAB (van der Vorst, 1992) from the value of the mean kernel. With the residual rho of any x, and the
 * occupancy d of the mean kernel,
 *
 *     J = mu.x + d.rho + (d_P - d).rho,        |(d_P - d).rho| <= 2 |rho|_inf / (1 - gamma):
 *
 * the first two terms are the return, and the last bound is what ends the iteration. Lanes that miss it are drawn
 * again and solved by the library's solver, one at a time.
 */
#include "core/random.h"
#include "fit/radii.h"
#include "fit/returns.h"
#include "linalg/threads.h"
#include "model/landing.h"
#include "model/policy.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { LANES = 8, DENSE_STATES = 48, ITERATIONS = 400, RESTART = 50 };
/* More successors that were not seen are drawn as pieces of a stick. */
enum { FEW_UNSEEN = 24 };
/* What is left of the stick is one piece more. */
static const double least_rest = 1e-9;

/* LANES doubles, wherever they lie. */
typedef double lanes __attribute__((vector_size(8 * 8), aligned(8)));

/* ---- What is drawn ----------------------------------------------------------------------------------- */

/* A row that the policy takes. */
typedef struct drawn_row {
    int64_t row, state;
    double weight;          /* pi(a|s) */
    bool known;             /* its entries are probabilities; else shapes of gamma variates */
    int64_t first, end;     /* its entries */
    int64_t others, other;  /* successors that are possible besides: their number, the first of them */
    double each;            /* shape of each */
    double square, freedom; /* of rewards; square 0: they do not vary */
} drawn_row;

typedef struct plan {
    nadir_context *context;
    const nadir_return_problem *problem;
    const nadir_return_measure *measure;
    const nadir_return_draws *draws;
    int64_t states, count;
    drawn_row *rows;        /* [count] in the order of states */
    int64_t *state_entries; /* [states + 1] first entry of each state */
    int32_t *columns;       /* [entries] */
    double *shapes;         /* [entries] */
    double *rewards;        /* [entries] */
    double *visits;         /* [entries] behind the reward; 0: it is assumed */
    int32_t *other_columns; /* successors besides */
    double *other_rewards;
    int64_t most_others;
    double limit; /* of |rho|_inf */
} plan;

/* A successor besides, of one kernel. */
typedef struct extra {
    int32_t state, column, lane;
    double value;
} extra;

/* The work space of a thread. */
typedef struct work {
    lanes *values;        /* [entries] */
    lanes *R;             /* [states] */
    lanes *x;             /* [states] */
    lanes *room[6];       /* [states] each */
    lanes *dense;         /* [states * states] */
    unsigned char *there; /* [states * states] where the matrix is not zero */
    extra *extras;
    int64_t extra_count;
    size_t extra_capacity;
    double *pieces; /* [most_others] */
    int64_t *marks; /* [most_others] number of the stick that took a place last */
    int64_t stick;
    bool failed; /* no memory for extras */
} work;

static void clear_plan(nadir_context *context, plan *self)
{
    NADIR_RELEASE(context, self->rows, self->state_entries, self->columns, self->shapes, self->rewards,
                  self->visits, self->other_columns, self->other_rewards);
}

static double pays(const nadir_model *model, int64_t row, const nadir_row *entries, int64_t i)
{
    const double r = entries->rewards != NULL ? entries->rewards[i] : model->rewards[row];
    return isnan(r) ? nadir_landing_unseen(model, row, nadir_row_column(entries, i)) : r;
}

/* The entry of a row with the lowest y. */
static int64_t find_worst(const plan *self, int64_t row, const nadir_row *entries)
{
    const nadir_model *model = self->problem->model;
    int64_t worst = 0;
    double least = INFINITY;
    for (int64_t i = 0; i < entries->count; i++) {
        const double y =
            pays(model, row, entries, i) + model->discount * self->measure->v[nadir_row_column(entries, i)];
        const bool lower = entries->values[i] > 0 && y < least; /* dense rows list all states */
        worst = lower ? i : worst;
        least = lower ? y : least;
    }
    return worst;
}

/* Adds the entries of a row: successors seen, and the few that are possible besides; many of them are listed apart. */
static void add_entries(plan *self, drawn_row *own, int64_t *entry, int64_t *other)
{
    const nadir_evidence *evidence = &self->problem->fit->evidence;
    const nadir_model *model = self->problem->model;
    const nadir_row entries = nadir_model_row(model, own->row);
    const bool cautious = self->draws->cautious && !own->known;
    const int64_t worst = cautious ? find_worst(self, own->row, &entries) : -1;
    const bool many = nadir_evidence_unseen(evidence, own->row) > FEW_UNSEEN;
    int64_t seen = evidence->row_starts[own->row];
    own->first = *entry;
    own->other = *other;
    for (int64_t i = 0; i < entries.count; i++) {
        const int32_t t = (int32_t)nadir_row_column(&entries, i);
        const bool was_seen = seen < evidence->row_starts[own->row + 1] && evidence->columns[seen] == t;
        const double n = was_seen ? evidence->counts[seen] : 0;
        const double shape = own->known  ? entries.values[i]
                             : !cautious ? n + own->each
                                         : n + (i == worst ? 0.5 : 0);
        seen += was_seen ? 1 : 0;
        if (!(entries.values[i] > 0)) {
            continue;
        }
        if (own->known || was_seen || (cautious ? i == worst : !many)) {
            self->columns[*entry] = t;
            self->shapes[*entry] = shape;
            self->rewards[*entry] = pays(model, own->row, &entries, i);
            self->visits[(*entry)++] = n;
        } else if (!cautious) {
            self->other_columns[*other] = t;
            self->other_rewards[(*other)++] = pays(model, own->row, &entries, i);
        }
    }
    own->end = *entry;
    own->others = *other - own->other;
    self->most_others = own->others > self->most_others ? own->others : self->most_others;
}

static nadir_status make_plan(const double *pi, plan *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_return_problem *problem = self->problem;
    const nadir_model *model = problem->model;
    int64_t entries = 0;
    int64_t entry = 0;
    int64_t other = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        self->count += pi[row] > 0 ? 1 : 0;
        entries += pi[row] > 0 ? nadir_model_row(model, row).count : 0;
    }
    self->states = model->states;
    NADIR_NEW(context, self->rows, self->count);
    NADIR_NEW(context, self->state_entries, self->states + 1);
    NADIR_NEW(context, self->columns, entries);
    NADIR_NEW(context, self->shapes, entries);
    NADIR_NEW(context, self->rewards, entries);
    NADIR_NEW(context, self->visits, entries);
    NADIR_NEW(context, self->other_columns, entries);
    NADIR_NEW(context, self->other_rewards, entries);
    self->count = 0;
    for (int64_t state = 0; state < self->states; state++) {
        self->state_entries[state] = entry;
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            if (pi[row] > 0) {
                drawn_row *own = &self->rows[self->count++];
                *own = (drawn_row){.row = row,
                                   .state = state,
                                   .weight = pi[row],
                                   .known = problem->shrink[row] == 0,
                                   .each = problem->fit->evidence.each[row],
                                   .square = problem->noise_square[row],
                                   .freedom = problem->noise_freedom[row]};
                add_entries(self, own, &entry, &other);
            }
        }
    }
    self->state_entries[self->states] = entry;
    self->limit = self->draws->tolerance * sqrt(self->measure->f) * (1 - model->discount) / 2;
cleanup:
    return status;
}

/* ---- Drawing ----------------------------------------------------------------------------------------- */

/* Another stream for every row and batch. */
static nadir_random stream_of(const plan *self, int64_t row, int64_t batch)
{
    nadir_random random;
    nadir_random_seed(&random, self->draws->seed + (uint64_t)batch * UINT64_C(0x9e3779b97f4a7c15) +
                                   (uint64_t)row * UINT64_C(0xd1342543de82ef95));
    return random;
}

/* Pieces of the successors besides, whose variates sum to `all`: they fall on different ones. */
static void draw_others(const plan *self, work *use, const drawn_row *own, nadir_random *random, int lane,
                        double all, double *reward)
{
    double rest;
    use->stick++;
    int64_t made = nadir_stick_pieces(random, own->others, own->each, least_rest, use->pieces, &rest);
    if (made < own->others) {
        use->pieces[made++] = rest;
    }
    for (int64_t i = 0; i < made; i++) {
        int64_t at;
        do {
            at = (int64_t)nadir_random_below(random, (uint64_t)own->others);
        } while (use->marks[at] == use->stick);
        use->marks[at] = use->stick;
        if ((size_t)use->extra_count >= use->extra_capacity) { /* room was made for as many as there can be */
            use->failed = true;
            return;
        }
        const double value = own->weight * all * use->pieces[i];
        use->extras[use->extra_count++] =
            (extra){(int32_t)own->state, self->other_columns[own->other + at], (int32_t)lane, value};
        *reward += value * self->other_rewards[own->other + at];
    }
}

/* The deviation of a reward with one visit, in one lane; 0: rewards do not vary. */
static double draw_noise(const drawn_row *own, nadir_random *random)
{
    return own->square > 0 ? sqrt(own->square / (2 * nadir_gamma_variate(random, own->freedom / 2))) : 0;
}

/* The mean reward of an entry, in one lane. */
static double draw_reward(const plan *self, int64_t entry, double noise, nadir_random *random)
{
    return noise > 0 && self->visits[entry] > 0
               ? self->rewards[entry] + noise * nadir_random_normal(random) / sqrt(self->visits[entry])
               : self->rewards[entry];
}

/* One lane of a row that is not known. */
static void draw_lane(const plan *self, work *use, const drawn_row *own, nadir_random *random, int lane)
{
    double sum = 0;
    double reward = 0;
    for (int64_t e = own->first; e < own->end; e++) {
        use->values[e][lane] = nadir_gamma_variate(random, self->shapes[e]);
        sum += use->values[e][lane];
    }
    const double others = own->others > 0 ? nadir_gamma_variate(random, own->each * (double)own->others) : 0;
    sum += others;
    if (!(sum > 0)) { /* all below the smallest double */
        use->values[own->first][lane] = sum = 1;
    }
    const double noise = draw_noise(own, random);
    for (int64_t e = own->first; e < own->end; e++) {
        use->values[e][lane] *= own->weight / sum;
        reward += use->values[e][lane] * draw_reward(self, e, noise, random);
    }
    if (others > 0) {
        draw_others(self, use, own, random, lane, others / sum, &reward);
    }
    use->R[own->state][lane] += reward;
}

static void fill_known(const plan *self, work *use, const drawn_row *own, nadir_random *random, int lane)
{
    const double noise = draw_noise(own, random);
    for (int64_t e = own->first; e < own->end; e++) {
        use->values[e][lane] = own->weight * self->shapes[e];
        use->R[own->state][lane] += use->values[e][lane] * draw_reward(self, e, noise, random);
    }
}

static void draw_batch(const plan *self, work *use, int64_t batch)
{
    memset(use->R, 0, (size_t)self->states * sizeof *use->R);
    use->extra_count = 0;
    for (int64_t i = 0; i < self->count; i++) {
        const drawn_row *own = &self->rows[i];
        nadir_random random = stream_of(self, own->row, batch);
        for (int lane = 0; lane < LANES; lane++) {
            (own->known ? fill_known : draw_lane)(self, use, own, &random, lane);
        }
    }
}

/* ---- Few states: elimination ------------------------------------------------------------------------- */

static void assemble(const plan *self, work *use)
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
            use->dense[at] -= gamma * use->values[e];
        }
    }
    for (int64_t i = 0; i < use->extra_count; i++) {
        const extra *own = &use->extras[i];
        const int64_t at = own->state * S + own->column;
        use->there[at] = 1;
        use->dense[at][own->lane] -= gamma * own->value;
    }
}

/* R <- (I - gamma P)^-1 R */
static void eliminate(const plan *self, work *use)
{
    const int64_t S = self->states;
    assemble(self, use);
    for (int64_t k = 0; k < S; k++) {
        const lanes *pivot = &use->dense[k * S];
        for (int64_t i = k + 1; i < S; i++) {
            lanes *row = &use->dense[i * S];
            if (!use->there[i * S + k]) {
                continue;
            }
            const lanes factor = row[k] / pivot[k];
            use->R[i] -= factor * use->R[k];
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
                use->R[i] -= use->dense[i * S + j] * use->R[j];
            }
        }
        use->R[i] /= use->dense[i * S + i];
    }
}

/* ---- Many states: iterations ------------------------------------------------------------------------- */

/* y <- x - gamma P x */
static void multiply(const plan *self, const work *use, const lanes *x, lanes *y)
{
    const double gamma = self->problem->model->discount;
    for (int64_t s = 0; s < self->states; s++) {
        lanes sum = {0};
        for (int64_t e = self->state_entries[s]; e < self->state_entries[s + 1]; e++) {
            sum += use->values[e] * x[self->columns[e]];
        }
        y[s] = x[s] - gamma * sum;
    }
    for (int64_t i = 0; i < use->extra_count; i++) {
        const extra *own = &use->extras[i];
        y[own->state][own->lane] -= gamma * own->value * x[own->column][own->lane];
    }
}

static void dot(int64_t count, const lanes *x, const lanes *y, lanes *sum)
{
    *sum = (lanes){0};
    for (int64_t s = 0; s < count; s++) {
        *sum += x[s] * y[s];
    }
}

/* Whether |r|_inf is within the limit, for each lane; true if all are. */
static bool is_small(const plan *self, const lanes *r, bool small[LANES])
{
    bool all = true;
    for (int lane = 0; lane < LANES; lane++) {
        small[lane] = true;
    }
    for (int64_t s = 0; s < self->states; s++) {
        for (int lane = 0; lane < LANES; lane++) {
            small[lane] = small[lane] && fabs(r[s][lane]) <= self->limit; /* false of NaN */
        }
    }
    for (int lane = 0; lane < LANES; lane++) {
        all = all && small[lane];
    }
    return all;
}

/* a / b, 0 where a lane has converged to the last bit. */
static void divide(const lanes *a, const lanes *b, lanes *quotient)
{
    for (int lane = 0; lane < LANES; lane++) {
        const double q = (*a)[lane] / (*b)[lane];
        (*quotient)[lane] = isfinite(q) ? q : 0;
    }
}

/* r <- R - A x */
static void find_residual(const plan *self, const work *use, lanes *r)
{
    multiply(self, use, use->x, r);
    for (int64_t s = 0; s < self->states; s++) {
        r[s] = use->R[s] - r[s];
    }
}

/* One step of BiCGSTAB; room: residual, shadow residual, p, v, q, t. */
static void step(const plan *self, work *use, lanes *rho)
{
    const int64_t S = self->states;
    lanes *r = use->room[0], *shadow = use->room[1], *p = use->room[2], *v = use->room[3], *q = use->room[4],
          *t = use->room[5];
    lanes alpha, omega, beta, product;
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

/* use->x from the value of the mean kernel towards (I - gamma P)^-1 R. */
static void iterate(const plan *self, work *use)
{
    bool small[LANES];
    lanes rho = {0};
    for (int64_t s = 0; s < self->states; s++) {
        use->x[s] = self->measure->v[s] + (lanes){0};
    }
    for (int i = 0; i < ITERATIONS; i++) {
        if (i % RESTART == 0) {
            find_residual(self, use, use->room[0]);
            memcpy(use->room[1], use->room[0], (size_t)self->states * sizeof(lanes));
            memcpy(use->room[2], use->room[0], (size_t)self->states * sizeof(lanes));
            dot(self->states, use->room[1], use->room[0], &rho);
        }
        if (is_small(self, use->room[0], small)) {
            break;
        }
        step(self, use, &rho);
    }
}

/* mu.x + d.rho of each lane; NaN where the residual is too large. */
static void settle(const plan *self, work *use, lanes *returns)
{
    const double *mu = self->problem->model->initial;
    lanes *rho = use->room[0];
    bool small[LANES];
    find_residual(self, use, rho);
    *returns = (lanes){0};
    for (int64_t s = 0; s < self->states; s++) {
        *returns += mu[s] * use->x[s] + self->measure->d[s] * rho[s];
    }
    (void)is_small(self, rho, small);
    for (int lane = 0; lane < LANES; lane++) {
        (*returns)[lane] = small[lane] && isfinite((*returns)[lane]) ? (*returns)[lane] : NAN;
    }
}

/* ---- All of them ------------------------------------------------------------------------------------- */

static void clear_work(nadir_context *context, work *use)
{
    NADIR_RELEASE(context, use->values, use->R, use->x, use->dense, use->there, use->extras, use->pieces,
                  use->marks);
    for (int i = 0; i < 6; i++) {
        nadir_release(context, use->room[i]);
    }
}

static nadir_status make_work(const plan *self, work *use)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    int64_t extras = 0;
    NADIR_NEW(context, use->values, self->state_entries[self->states]);
    NADIR_NEW(context, use->R, self->states);
    for (int64_t i = 0; i < self->count; i++) { /* a stick has few pieces unless its shape is large */
        const double shape = self->rows[i].each * (double)self->rows[i].others;
        extras += (int64_t)fmin((double)self->rows[i].others, 64 + 40 * shape) * LANES;
    }
    use->extra_capacity = (size_t)extras;
    NADIR_NEW(context, use->extras, extras);
    NADIR_NEW(context, use->pieces, self->most_others + 1);
    NADIR_NEW_ZERO(context, use->marks, self->most_others + 1);
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

static void solve_batch(const plan *self, work *use, int64_t batch, lanes *returns)
{
    const double *mu = self->problem->model->initial;
    draw_batch(self, use, batch);
    if (self->states > DENSE_STATES) {
        iterate(self, use);
        settle(self, use, returns);
        return;
    }
    eliminate(self, use);
    *returns = (lanes){0};
    for (int64_t s = 0; s < self->states; s++) {
        *returns += mu[s] * use->R[s];
    }
}

/* P^pi of one lane of the batch in `use`, as CSR. dense: [states] all zero, and again afterwards. */
static void write_lane(const plan *self, const work *use, int lane, double *dense, int64_t *starts,
                       int32_t *columns, double *values, double *rewards)
{
    int64_t to = 0;
    for (int64_t s = 0; s < self->states; s++) {
        starts[s] = to;
        rewards[s] = use->R[s][lane];
        for (int64_t e = self->state_entries[s]; e < self->state_entries[s + 1]; e++) {
            dense[self->columns[e]] += use->values[e][lane];
        }
        for (int64_t i = 0; i < use->extra_count; i++) {
            const extra *own = &use->extras[i];
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
static nadir_status solve_lane(const plan *self, const work *use, int lane, double *J)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const int64_t room = self->state_entries[self->states] + use->extra_count;
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
static nadir_status solve_rest(const plan *self, work *use, double *returns)
{
    int64_t drawn = -1;
    for (int64_t k = 0; k < self->draws->count; k++) {
        if (!isnan(returns[k])) {
            continue;
        }
        if (drawn != k / LANES) {
            drawn = k / LANES;
            draw_batch(self, use, drawn);
        }
        NADIR_TRY(nadir_progress(self->context, "drawing kernels", (double)k / (double)self->draws->count));
        NADIR_TRY(solve_lane(self, use, (int)(k % LANES), &returns[k]));
    }
    return NADIR_OK;
}

static nadir_status draw_all(const plan *self, work *members, int threads, double *returns)
{
    nadir_status stopped = NADIR_OK;
    const int64_t count = self->draws->count;
    const int64_t batches = (count + LANES - 1) / LANES;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
    for (int64_t batch = 0; batch < batches; batch++) {
        if (nadir_progress_team(self->context, "drawing kernels", (double)batch / (double)batches,
                                &stopped)) {
            const int64_t first = batch * LANES;
            lanes found;
            solve_batch(self, &members[omp_get_thread_num()], batch, &found);
            memcpy(returns + first, &found,
                   (size_t)(count - first < LANES ? count - first : LANES) * sizeof *returns);
        }
    }
    return stopped;
}

nadir_status nadir_return_draw(nadir_context *context, const nadir_return_problem *problem,
                               const nadir_policy *policy, const nadir_return_measure *measure,
                               const nadir_return_draws *draws, double *returns)
{
    nadir_status status = NADIR_OK;
    plan self = {.context = context, .problem = problem, .measure = measure, .draws = draws};
    const int threads = nadir_threads_for(context, draws->count * problem->model->states * 100);
    work *members = NULL;
    NADIR_CHECK(make_plan(policy->probabilities, &self));
    NADIR_NEW_ZERO(context, members, threads);
    for (int i = 0; i < threads; i++) {
        NADIR_CHECK(make_work(&self, &members[i]));
    }
    NADIR_CHECK(draw_all(&self, members, threads, returns));
    for (int i = 0; i < threads; i++) {
        if (members[i].failed) {
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
    clear_plan(context, &self);
    return status;
}
