/*
 * spectral.c: the worst kernel of the L_2 ball on the free domain, by one of three methods; see spectral.h.
 *
 *     newton          the root of f on a subspace that grows by residuals (below)
 *     bisect          spectral_plain.c: Algorithm 1 of the paper, with sigma_max from the same subspace
 *     best response   spectral_plain.c: b and k in turn
 *
 * Newton: on a subspace the penalty of every radius is known (spectral.h). A round makes, for the radii
 * still open, y = E x / theta and, by one transposed solve each, the residual r = E^T y - theta x, which is
 * orthogonal to the subspace. Of T = I / (beta gamma)^2 - M on all of space r is the residual of T s = b, and
 * what is missing of b^T T^-1 b is r^T T^-1 r: with eps^2 = (beta gamma)^2 m_max < 1 and rho = |r| the
 * penalty lacks
 *
 *     between e and e / (1 - eps^2) of itself,   e = rho^2 / (2 theta^2) / (1 + gamma k . g).
 *
 * Once r is taken into the subspace, by one solve, the penalty has gained e (1 + eta) with an eta of at most
 * eps^2 / (1 - eps^2) that can be read off, and e eta eps^2 at most is left: so most radii are done after two
 * solves and one transposed one. Residuals of different radii are nearly dependent (those of a Krylov space
 * lie in a plane): few directions serve all.
 */
#include "search/spectral.h"

#include "linalg/matrix.h"

#include <math.h>
#include <string.h>

/* Most directions in a round. Several help where the radii differ much. */
#define DIRECTIONS 4
_Static_assert(DIRECTIONS >= 3, "close_candidate keeps x, k and g in their place");
/* Residuals are made in blocks of at most this many numbers, and this many vectors. */
#define NUMBERS_LIMIT 4000000
#define BLOCK_LIMIT   64
/* From this many radii on, transposed solves are made for the columns of the subspace, not for the radii. */
#define SHARED_LEAST 6
/* A residual of which no more than this is orthogonal to the subspace is rounding. */
#define ROUNDING_SHARE 1e-3
/* The subspace gives the largest eigenvalue of M from below only: it is taken this much larger. */
#define SAFETY 2

typedef struct radius_state {
    double beta;
    bool open;
    nadir_spectral_subspace_point point;
    double error;  /* estimate of what the penalty lacks, relative; infinity: not estimated yet */
    double before; /* l when the residual was made */
    double gain;   /* e of the part of the residual that was taken in; 0: none was */
    double left;   /* e of the other part */
    double factor; /* 1 / (1 - eps^2): what is lacking is at most e times this */
    double rho;
} radius_state;

typedef struct search {
    const nadir_spectral *run;
    int64_t states;
    int64_t count;
    radius_state *radius_states; /* [count] */
    nadir_candidate *candidates; /* [count] */
    int64_t open;
    int64_t round;
    int block;                                         /* most residuals in a round */
    int chosen;                                        /* radii whose residuals are being made */
    int64_t *choice;                                   /* [block] */
    double *y;                                         /* [block * states] */
    double *r;                                         /* [block * states] */
    double *directions;                                /* [DIRECTIONS * states] */
    bool shared;                                       /* D^T y of all radii come from `images` */
    int imaged;                                        /* images that are made */
    double *images[NADIR_SPECTRAL_SUBSPACE_LIMIT + 1]; /* [states] each: D^T v_hat, D^T z_0, ...; or NULL */
} search;

static nadir_status close_candidate(search *self, int64_t i, nadir_spectral_stop stop)
{
    radius_state *current = &self->radius_states[i];
    double *x = self->directions;
    double *k = x + self->states;
    double *g = k + self->states;
    nadir_spectral_subspace_expand(self->run->context, self->run->subspace, &current->point, x, k, g);
    current->open = false;
    self->open--;
    return nadir_spectral_finish(self->run, current->beta, x, k, g, stop, self->round, &self->candidates[i]);
}

/* (beta gamma)^2 m_max */
static double square_epsilon(const search *self, const radius_state *current)
{
    const nadir_spectral_subspace *subspace = self->run->subspace;
    const double reach = current->beta * subspace->problem->gamma;
    return reach * reach * subspace->m[subspace->size - 1];
}

/* The error that is left once the residual is in the subspace, from what it gained. To first order in e. */
static void estimate_error(const search *self, radius_state *current)
{
    if (!(current->gain > 0)) {
        return;
    }
    const double square = square_epsilon(self, current);
    const double gained = (current->point.l - current->before) / current->before;
    const double eta = fmax(0, gained / current->gain - 1) + current->gain;
    const double rate = fmin(1, SAFETY * fmax(square, eta));
    current->error = (current->gain * eta * rate + current->left) / (1 - square);
    current->gain = 0;
}

/* The penalty of every open radius on the subspace as it is; closes those that are done. */
static nadir_status solve_projected(search *self)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = self->run;
    NADIR_CHECK(nadir_spectral_subspace_diagonalise(run->context, run->subspace));
    for (int64_t i = 0; i < self->count; i++) {
        radius_state *current = &self->radius_states[i];
        if (current->open) {
            NADIR_CHECK(
                nadir_spectral_subspace_root(run->context, run->subspace, current->beta, &current->point));
            estimate_error(self, current);
            if (current->error <= run->tolerance / 2) {
                NADIR_CHECK(close_candidate(self, i, NADIR_SPECTRAL_STOP_TOLERANCE));
            }
        }
    }
cleanup:
    return status;
}

/* The open radii with the largest errors, the larger radius among equals, into `choice`. */
static void choose(search *self)
{
    self->chosen = 0;
    for (int64_t i = 0; i < self->count; i++) {
        const radius_state *current = &self->radius_states[i];
        if (!current->open) {
            continue;
        }
        int place = self->chosen;
        for (; place > 0; place--) {
            const radius_state *other = &self->radius_states[self->choice[place - 1]];
            if (other->error > current->error ||
                (other->error == current->error && other->beta >= current->beta)) {
                break;
            }
            if (place < self->block) {
                self->choice[place] = self->choice[place - 1];
            }
        }
        if (place < self->block) {
            self->choice[place] = i;
            self->chosen += self->chosen < self->block;
        }
    }
}

/* r <- D^T y of every chosen radius, by as many solves. */
static nadir_status solve_transposed(const search *self)
{
    const nadir_spectral *run = self->run;
    for (int j = 0; j < self->chosen; j++) {
        const nadir_spectral_subspace_point *point = &self->radius_states[self->choice[j]].point;
        nadir_spectral_subspace_expand(run->context, run->subspace, point, NULL, self->y + j * self->states,
                                       NULL);
    }
    return nadir_spectral_transposed(run, self->chosen, self->y, self->r);
}

/* The images that are still missing, `block` at a time. */
static nadir_status make_images(search *self)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = self->run;
    const nadir_spectral_subspace *subspace = run->subspace;
    const size_t bytes = (size_t)self->states * sizeof *self->y;
    while (self->imaged <= subspace->size) {
        const int missing = subspace->size + 1 - self->imaged;
        const int count = missing < self->block ? missing : self->block;
        for (int j = 0; j < count; j++) {
            const int column = self->imaged + j;
            memcpy(self->y + j * self->states, column == 0 ? subspace->v_hat : subspace->z[column - 1],
                   bytes);
        }
        NADIR_CHECK(nadir_spectral_transposed(run, count, self->y, self->r));
        for (int j = 0; j < count; j++, self->imaged++) {
            if (self->images[self->imaged] == NULL) {
                NADIR_NEW(run->context, self->images[self->imaged], self->states);
            }
            memcpy(self->images[self->imaged], self->r + j * self->states, bytes);
        }
    }
cleanup:
    return status;
}

/* The same from y = along v_hat - (l / theta) Z s: the images of a few columns serve all radii. */
static nadir_status combine_images(search *self)
{
    nadir_status status = NADIR_OK;
    const nadir_context *context = self->run->context;
    const int size = self->run->subspace->size;
    double factors[NADIR_SPECTRAL_SUBSPACE_LIMIT];
    NADIR_CHECK(make_images(self));
    for (int j = 0; j < self->chosen; j++) {
        const nadir_spectral_subspace_point *point = &self->radius_states[self->choice[j]].point;
        double *r = self->r + j * self->states;
        for (int i = 0; i < size; i++) {
            factors[i] = -point->l / point->theta * point->s[i];
        }
        nadir_blocks_scale(context, self->states, point->along, self->images[0], r);
        (void)nadir_blocks_add_many(context, self->states, size, (const double *const *)(self->images + 1),
                                    factors, r);
    }
cleanup:
    return status;
}

/* Residuals of the chosen radii; closes those that are done, and leaves them out of the choice. */
static nadir_status make_residuals(search *self)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = self->run;
    const int64_t n = self->states;
    int kept = 0;
    NADIR_CHECK(self->shared ? combine_images(self) : solve_transposed(self));
    for (int j = 0; j < self->chosen; j++) {
        const int64_t i = self->choice[j];
        radius_state *current = &self->radius_states[i];
        double *r = self->r + j * n;
        current->rho = nadir_spectral_subspace_residual(run->context, run->subspace, &current->point, r);
        const double share = current->rho / current->point.theta;
        current->left =
            share * share / 2 / (1 + run->problem->gamma * current->beta * current->point.feedback);
        current->before = current->point.l;
        current->factor = 1 / (1 - square_epsilon(self, current));
        current->error = current->left * current->factor;
        if (current->error <= run->tolerance / 2) {
            NADIR_CHECK(close_candidate(self, i, NADIR_SPECTRAL_STOP_TOLERANCE));
        } else {
            memmove(self->r + kept * n, r, (size_t)n * sizeof *r);
            self->choice[kept++] = i;
        }
    }
    self->chosen = kept;
cleanup:
    return status;
}

/* r: [states] <- its part orthogonal to the subspace and to `taken` directions, brought to norm 1; false when
 * it is no more than rounding. */
static bool make_direction(const search *self, double rho, int taken, double *r)
{
    const nadir_spectral *run = self->run;
    double norm = nadir_spectral_subspace_reduce(run->context, run->subspace, r);
    for (int k = 0; k < taken; k++) {
        const double *q = self->directions + k * self->states;
        nadir_blocks_add(run->context, self->states, -nadir_blocks_dot(run->context, self->states, q, r), q,
                         r);
    }
    if (!(norm > ROUNDING_SHARE * rho)) {
        return false;
    }
    norm = sqrt(nadir_blocks_dot(run->context, self->states, r, r));
    nadir_blocks_scale(run->context, self->states, 1 / norm, r, r);
    return true;
}

/* Takes the direction q, which is in `directions`, out of all residuals. */
static void deflate(search *self, const double *q)
{
    const nadir_context *context = self->run->context;
    for (int j = 0; j < self->chosen; j++) {
        radius_state *current = &self->radius_states[self->choice[j]];
        double *r = self->r + j * self->states;
        const double along = nadir_blocks_dot(context, self->states, q, r);
        const double e = (current->left + current->gain) / (current->rho * current->rho);
        nadir_blocks_add(context, self->states, -along, q, r);
        current->gain += e * along * along;
        current->left = fmax(0, current->left - e * along * along);
    }
}

/* The place in the choice of the radius that lacks most. */
static int find_worst(const search *self)
{
    int worst = 0;
    for (int j = 1; j < self->chosen; j++) {
        const radius_state *current = &self->radius_states[self->choice[j]];
        const radius_state *other = &self->radius_states[self->choice[worst]];
        worst = current->left * current->factor > other->left * other->factor ? j : worst;
    }
    return worst;
}

/* Fills `directions`, each along the residual that matters most once the ones before are taken out of it;
 * returns how many. */
static int take_directions(search *self)
{
    int taken = 0;
    while (taken < DIRECTIONS) {
        const int worst = find_worst(self);
        const radius_state *current = &self->radius_states[self->choice[worst]];
        if (!(current->left * current->factor > self->run->tolerance / 4)) {
            break;
        }
        double *q = self->directions + taken * self->states;
        const double share = sqrt(current->left / (current->left + current->gain));
        memcpy(q, self->r + worst * self->states, (size_t)self->states * sizeof *q);
        if (!make_direction(self, share * current->rho, taken, q)) {
            break;
        }
        taken++;
        deflate(self, q);
    }
    return taken;
}

static void shrink_basis(const search *self)
{
    const nadir_spectral_subspace_point *points[BLOCK_LIMIT];
    for (int j = 0; j < self->chosen; j++) {
        points[j] = &self->radius_states[self->choice[j]].point;
    }
    nadir_spectral_subspace_compress(self->run->context, self->run->subspace, self->chosen, points);
}

static nadir_status grow(search *self)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = self->run;
    choose(self);
    NADIR_CHECK(make_residuals(self));
    if (self->chosen == 0) {
        return NADIR_OK;
    }
    const int taken = take_directions(self);
    if (taken == 0) { /* the residual is nothing but rounding */
        return close_candidate(self, self->choice[find_worst(self)], NADIR_SPECTRAL_STOP_STABLE);
    }
    if (run->subspace->size + taken > NADIR_SPECTRAL_SUBSPACE_LIMIT) {
        shrink_basis(self);
        self->imaged = 1; /* the columns of Z are others now */
    }
    NADIR_CHECK(nadir_spectral_subspace_append(run->context, run->subspace, taken, self->directions));
cleanup:
    return status;
}

static nadir_status run_rounds(search *self)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = self->run;
    NADIR_CHECK(nadir_spectral_subspace_begin(run->context, run->subspace, self->directions));
    NADIR_CHECK(solve_projected(self));
    while (self->open > 0 && self->round < run->iterations_limit) {
        self->round++;
        NADIR_CHECK(nadir_progress(run->context, "searching the worst kernel", -1));
        NADIR_CHECK(grow(self));
        NADIR_CHECK(solve_projected(self));
    }
    for (int64_t i = 0; self->open > 0 && i < self->count; i++) {
        if (self->radius_states[i].open) {
            NADIR_CHECK(close_candidate(self, i, NADIR_SPECTRAL_STOP_ITERATIONS));
        }
    }
cleanup:
    return status;
}

/* All radii at once whose candidates have no c yet. radii, candidates: [count]. */
static nadir_status solve_newton(const nadir_spectral *run, int64_t count, const double *radii,
                                 nadir_candidate *candidates)
{
    nadir_status status = NADIR_OK;
    const int64_t n = run->problem->states;
    search self = {.run = run, .states = n, .count = count, .candidates = candidates};
    self.block =
        (int)fmin(BLOCK_LIMIT, fmax(2, NUMBERS_LIMIT / (double)nadir_model_share(run->problem->model)));
    self.block = self.block < count ? self.block : (int)count;
    self.shared = self.block >= SHARED_LEAST;
    NADIR_NEW(run->context, self.radius_states, count);
    NADIR_NEW(run->context, self.choice, self.block);
    NADIR_NEW(run->context, self.y, self.block * n);
    NADIR_NEW(run->context, self.r, self.block * n);
    NADIR_NEW(run->context, self.directions, DIRECTIONS * n);
    for (int64_t i = 0; i < count; i++) {
        radius_state *current = &self.radius_states[i];
        current->beta = radii[i];
        current->open = candidates[i].c == NULL;
        current->error = INFINITY;
        current->gain = 0;
        self.open += current->open;
    }
    if (self.open > 0) {
        NADIR_CHECK(run_rounds(&self));
    }
cleanup:
    nadir_release(run->context, self.radius_states);
    nadir_release(run->context, self.choice);
    nadir_release(run->context, self.y);
    nadir_release(run->context, self.r);
    nadir_release(run->context, self.directions);
    for (int j = 0; j <= NADIR_SPECTRAL_SUBSPACE_LIMIT; j++) {
        nadir_release(run->context, self.images[j]);
    }
    return status;
}

/* ------------------------------------------------------------------------- choice of the method */

/* Rounding of the solves leaves no more than this of the penalty. */
#define LEAST_TOLERANCE 1e-13

nadir_status nadir_spectral_finish(const nadir_spectral *run, double beta, double *x, const double *k,
                                   double *g, nadir_spectral_stop stop, int64_t iterations,
                                   nadir_candidate *candidate)
{
    static const char *const reasons[] = {"tolerance", "stable", "iterations"};
    for (int64_t s = 0; s < run->problem->states; s++) {
        x[s] *= beta;
        g[s] *= beta;
    }
    candidate->method = run->method;
    candidate->stop_reason = reasons[stop];
    candidate->converged = stop != NADIR_SPECTRAL_STOP_ITERATIONS;
    candidate->iterations = iterations;
    return nadir_rank_one_candidate_known(run->context, run->problem, beta, x, k, g, candidate);
}

nadir_status nadir_spectral_transposed(const nadir_spectral *run, int64_t count, const double *y, double *w)
{
    /* The error of the penalty is the square of a residual: the root of the tolerance, and less. */
    return nadir_occupancy_solve_roughly(run->context, run->problem->occupancy, true, count, y,
                                         0.01 * sqrt(run->tolerance), w);
}

/* The nominal kernel: nothing changes the return. */
static nadir_status finish_idle(const nadir_spectral *run, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    double *zeros = NULL;
    const int64_t n = run->problem->states;
    NADIR_NEW_ZERO(run->context, zeros, 3 * n);
    NADIR_CHECK(nadir_spectral_finish(run, 0, zeros, zeros + n, zeros + 2 * n, NADIR_SPECTRAL_STOP_TOLERANCE,
                                      0, candidate));
cleanup:
    nadir_release(run->context, zeros);
    return status;
}

static nadir_status solve_each(const nadir_spectral *run, nadir_spectral_method method, int64_t count,
                               const double *radii, nadir_candidate *candidates)
{
    nadir_status status = NADIR_OK;
    for (int64_t i = 0; i < count; i++) {
        if (candidates[i].c == NULL) {
            NADIR_CHECK(method == NADIR_SPECTRAL_BISECT
                            ? nadir_spectral_bisect(run, radii[i], &candidates[i])
                            : nadir_spectral_alternate(run, radii[i], &candidates[i]));
        }
    }
cleanup:
    return status;
}

/* The larger of `tolerance` and what rounding allows. */
static double attainable_tolerance(double tolerance)
{
    return tolerance > LEAST_TOLERANCE ? tolerance : LEAST_TOLERANCE;
}

nadir_status nadir_spectral_solve(nadir_context *context, const nadir_problem *problem,
                                  nadir_spectral_method method, double tolerance, int64_t iterations_limit,
                                  int64_t count, const double *radii, nadir_candidate *candidates)
{
    static const char *const names[] = {"newton", "bisect", "best-response"};
    nadir_status status = NADIR_OK;
    nadir_spectral run = {.context = context,
                          .problem = problem,
                          .method = names[method],
                          .tolerance = attainable_tolerance(tolerance),
                          .iterations_limit = iterations_limit};
    NADIR_CHECK(nadir_spectral_subspace_create(context, problem, &run.subspace));
    for (int64_t i = 0; i < count; i++) {
        if (run.subspace->idle || radii[i] == 0) {
            NADIR_CHECK(finish_idle(&run, &candidates[i]));
        }
    }
    if (!run.subspace->idle) {
        NADIR_CHECK(method == NADIR_SPECTRAL_NEWTON ? solve_newton(&run, count, radii, candidates)
                                                    : solve_each(&run, method, count, radii, candidates));
    }
    if (count == 1) {
        NADIR_CHECK(nadir_rank_one_candidate_kernel(context, problem, candidates));
    }
cleanup:
    for (int64_t i = 0; status != NADIR_OK && i < count; i++) {
        nadir_candidate_clear(context, &candidates[i]);
    }
    nadir_spectral_subspace_free(context, run.subspace);
    return status;
}
