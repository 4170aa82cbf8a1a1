/*
 * spectral_newton.c: the worst kernel of the L_2 ball, for many radii, on one subspace that grows.
 *
 * On a subspace the penalty of every radius is known (subspace.h). A round makes, for the radii still open,
 * y = E x / theta and, by one transposed solve each, the residual r = E^T y - theta x, which is orthogonal to
 * the subspace. Of T = I / (beta gamma)^2 - M on all of space r is the residual of T s = b, and what is
 * missing of b^T T^-1 b is r^T T^-1 r: with eps^2 = (beta gamma)^2 m_max < 1 and rho = |r| the penalty lacks
 *
 *     between e and e / (1 - eps^2) of itself,   e = rho^2 / (2 theta^2) / (1 + gamma k . g).
 *
 * Once r is taken into the subspace, by one solve, the penalty has gained e (1 + eta) with an eta of at most
 * eps^2 / (1 - eps^2) that can be read off, and e eta eps^2 at most is left: so most radii are done after two
 * solves and one transposed one. Residuals of different radii are nearly dependent (those of a Krylov space
 * lie in a plane): few directions serve all.
 */
#include "adversary/search/spectral.h"
#include "linalg/blocks.h"

#include <math.h>
#include <string.h>

/* Directions taken in a round, at most: more serve radii that differ very much. */
#define DIRECTIONS 4
/* How many vectors of residuals may be kept at a time: the fewer, the longer they are. */
#define NUMBERS_LIMIT 4000000
#define SIDES_LIMIT   64
/* A residual of which no more than this is orthogonal to the subspace is rounding. */
#define ROUNDING_SHARE 1e-3
/* The largest eigenvalue of M is known from below only, by the subspace and by what directions brought. */
#define SAFETY 2

typedef struct candidate {
    double beta;
    bool open;
    nadir_spectral_subspace_point point;
    double error;  /* estimate of what the penalty lacks, relative; infinity: no idea yet */
    double before; /* l when the residual was made */
    double gain;   /* e of the part of the residual that was taken in; 0: none was */
    double left;   /* e of the other part */
    double factor; /* 1 / (1 - eps^2): what is lacking is at most e times this */
    double rho;
} candidate;

typedef struct search {
    const nadir_spectral *run;
    int64_t states;
    int64_t count;
    candidate *candidates; /* [count] */
    nadir_attack *attacks; /* [count] */
    int64_t open;
    int64_t round;
    int sides;       /* most residuals in a round */
    int chosen;      /* radii whose residuals are being made */
    int64_t *choice; /* [sides] */
    double *y;       /* [sides * states] */
    double *r;       /* [sides * states] */
    double *room;    /* [DIRECTIONS * states] */
} search;

static nadir_status close_candidate(search *at, int64_t i, const char *stop_reason)
{
    candidate *one = &at->candidates[i];
    double *x = at->room;
    double *k = x + at->states;
    double *g = k + at->states;
    nadir_spectral_subspace_expand(at->run->context, at->run->subspace, &one->point, x, k, g);
    one->open = false;
    at->open--;
    return nadir_spectral_finish(at->run, one->beta, x, k, g, stop_reason, at->round, &at->attacks[i]);
}

/* (beta gamma)^2 m_max */
static double square_epsilon(const search *at, const candidate *one)
{
    const nadir_spectral_subspace *subspace = at->run->subspace;
    const double reach = one->beta * subspace->problem->gamma;
    return reach * reach * subspace->m[subspace->size - 1];
}

/* What is left once the residual was taken in, from what it brought. The formulas are of first order in e. */
static void estimate_error(const search *at, candidate *one)
{
    if (!(one->gain > 0)) {
        return;
    }
    const double square = square_epsilon(at, one);
    const double gained = (one->point.l - one->before) / one->before;
    const double eta = fmax(0, gained / one->gain - 1) + one->gain;
    const double spread = fmin(1, SAFETY * fmax(square, eta));
    one->error = (one->gain * eta * spread + one->left) / (1 - square);
    one->gain = 0;
}

/* The penalty of every open radius on the subspace as it is; closes those that are done. */
static nadir_status solve_projected(search *at)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = at->run;
    NADIR_CHECK(nadir_spectral_subspace_diagonalise(run->context, run->subspace));
    for (int64_t i = 0; i < at->count; i++) {
        candidate *one = &at->candidates[i];
        if (one->open) {
            NADIR_CHECK(nadir_spectral_subspace_root(run->context, run->subspace, one->beta, &one->point));
            estimate_error(at, one);
            if (one->error <= run->tolerance / 2) {
                NADIR_CHECK(close_candidate(at, i, "tolerance"));
            }
        }
    }
cleanup:
    return status;
}

/* The open radii with the largest errors, the larger radius among equals, into `choice`. */
static void choose(search *at)
{
    at->chosen = 0;
    for (int64_t i = 0; i < at->count; i++) {
        const candidate *one = &at->candidates[i];
        if (!one->open) {
            continue;
        }
        int place = at->chosen;
        for (; place > 0; place--) {
            const candidate *other = &at->candidates[at->choice[place - 1]];
            if (other->error > one->error || (other->error == one->error && other->beta >= one->beta)) {
                break;
            }
            if (place < at->sides) {
                at->choice[place] = at->choice[place - 1];
            }
        }
        if (place < at->sides) {
            at->choice[place] = i;
            at->chosen += at->chosen < at->sides;
        }
    }
}

/* Residuals of the chosen radii; closes those that are done, and leaves them out of the choice. */
static nadir_status make_residuals(search *at)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = at->run;
    const int64_t n = at->states;
    int kept = 0;
    for (int j = 0; j < at->chosen; j++) {
        const nadir_spectral_subspace_point *point = &at->candidates[at->choice[j]].point;
        nadir_spectral_subspace_expand(run->context, run->subspace, point, NULL, at->y + j * n, NULL);
    }
    NADIR_CHECK(nadir_spectral_transposed(run, at->chosen, at->y, at->r));
    for (int j = 0; j < at->chosen; j++) {
        const int64_t i = at->choice[j];
        candidate *one = &at->candidates[i];
        double *r = at->r + j * n;
        one->rho = nadir_spectral_subspace_residual(run->context, run->subspace, &one->point, r);
        const double share = one->rho / one->point.theta;
        one->left = share * share / 2 / (1 + run->problem->gamma * one->beta * one->point.feedback);
        one->before = one->point.l;
        one->factor = 1 / (1 - square_epsilon(at, one));
        one->error = one->left * one->factor;
        if (one->error <= run->tolerance / 2) {
            NADIR_CHECK(close_candidate(at, i, "tolerance"));
        } else {
            memmove(at->r + kept * n, r, (size_t)n * sizeof *r);
            at->choice[kept++] = i;
        }
    }
    at->chosen = kept;
cleanup:
    return status;
}

/* r: [states] <- its part orthogonal to the subspace and to `taken` directions, brought to norm 1; false when
 * it is no more than rounding. */
static bool make_direction(const search *at, double rho, int taken, double *r)
{
    const nadir_spectral *run = at->run;
    double norm = nadir_spectral_subspace_reduce(run->context, run->subspace, r);
    for (int k = 0; k < taken; k++) {
        const double *q = at->room + k * at->states;
        nadir_blocks_add(run->context, at->states, -nadir_blocks_dot(run->context, at->states, q, r), q, r);
    }
    if (!(norm > ROUNDING_SHARE * rho)) {
        return false;
    }
    norm = sqrt(nadir_blocks_dot(run->context, at->states, r, r));
    nadir_blocks_scale(run->context, at->states, 1 / norm, r, r);
    return true;
}

/* Takes the direction q, which is in `room`, out of all residuals. */
static void deflate(search *at, const double *q)
{
    const nadir_context *context = at->run->context;
    for (int j = 0; j < at->chosen; j++) {
        candidate *one = &at->candidates[at->choice[j]];
        double *r = at->r + j * at->states;
        const double along = nadir_blocks_dot(context, at->states, q, r);
        const double e = (one->left + one->gain) / (one->rho * one->rho);
        nadir_blocks_add(context, at->states, -along, q, r);
        one->gain += e * along * along;
        one->left = fmax(0, one->left - e * along * along);
    }
}

/* The place in the choice of the radius that lacks most. */
static int find_worst(const search *at)
{
    int worst = 0;
    for (int j = 1; j < at->chosen; j++) {
        const candidate *one = &at->candidates[at->choice[j]];
        const candidate *other = &at->candidates[at->choice[worst]];
        worst = one->left * one->factor > other->left * other->factor ? j : worst;
    }
    return worst;
}

/* Directions into `room`, each along the residual that matters most once the ones before are taken out of it;
 * returns how many. */
static int take_directions(search *at)
{
    int taken = 0;
    while (taken < DIRECTIONS) {
        const int worst = find_worst(at);
        const candidate *one = &at->candidates[at->choice[worst]];
        if (!(one->left * one->factor > at->run->tolerance / 4)) {
            break;
        }
        double *q = at->room + taken * at->states;
        const double share = sqrt(one->left / (one->left + one->gain));
        memcpy(q, at->r + worst * at->states, (size_t)at->states * sizeof *q);
        if (!make_direction(at, share * one->rho, taken, q)) {
            break;
        }
        taken++;
        deflate(at, q);
    }
    return taken;
}

static void make_room(const search *at)
{
    const nadir_spectral_subspace_point *points[SIDES_LIMIT];
    for (int j = 0; j < at->chosen; j++) {
        points[j] = &at->candidates[at->choice[j]].point;
    }
    nadir_spectral_subspace_compress(at->run->context, at->run->subspace, at->chosen, points);
}

static nadir_status grow(search *at)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = at->run;
    choose(at);
    NADIR_CHECK(make_residuals(at));
    if (at->chosen == 0) {
        return NADIR_OK;
    }
    const int taken = take_directions(at);
    if (taken == 0) { /* the residual is nothing but rounding */
        return close_candidate(at, at->choice[find_worst(at)], "stable");
    }
    if (run->subspace->size + taken > NADIR_SPECTRAL_SUBSPACE_LIMIT) {
        make_room(at);
    }
    NADIR_CHECK(nadir_spectral_subspace_append(run->context, run->subspace, taken, at->room));
cleanup:
    return status;
}

static nadir_status run_rounds(search *at)
{
    nadir_status status = NADIR_OK;
    const nadir_spectral *run = at->run;
    NADIR_CHECK(nadir_spectral_subspace_begin(run->context, run->subspace, at->room));
    NADIR_CHECK(solve_projected(at));
    while (at->open > 0 && at->round < run->iterations_limit) {
        at->round++;
        NADIR_CHECK(nadir_progress(run->context, "searching the worst kernel", -1));
        NADIR_CHECK(grow(at));
        NADIR_CHECK(solve_projected(at));
    }
    for (int64_t i = 0; at->open > 0 && i < at->count; i++) {
        if (at->candidates[i].open) {
            NADIR_CHECK(close_candidate(at, i, "iterations"));
        }
    }
cleanup:
    return status;
}

nadir_status nadir_spectral_newton(const nadir_spectral *run, int64_t count, const double *radii,
                                   nadir_attack *attacks)
{
    nadir_status status = NADIR_OK;
    const int64_t n = run->problem->states;
    search at = {.run = run, .states = n, .count = count, .attacks = attacks};
    at.sides =
        (int)fmin(SIDES_LIMIT, fmax(2, NUMBERS_LIMIT / (double)nadir_model_share(run->problem->model)));
    at.sides = at.sides < count ? at.sides : (int)count;
    NADIR_NEW(run->context, at.candidates, count);
    NADIR_NEW(run->context, at.choice, at.sides);
    NADIR_NEW(run->context, at.y, at.sides * n);
    NADIR_NEW(run->context, at.r, at.sides * n);
    NADIR_NEW(run->context, at.room, DIRECTIONS * n);
    for (int64_t i = 0; i < count; i++) {
        candidate *one = &at.candidates[i];
        one->beta = radii[i];
        one->open = attacks[i].c == NULL;
        one->error = INFINITY;
        one->gain = 0;
        at.open += one->open;
    }
    if (at.open > 0) {
        NADIR_CHECK(run_rounds(&at));
    }
cleanup:
    nadir_release(run->context, at.candidates);
    nadir_release(run->context, at.choice);
    nadir_release(run->context, at.y);
    nadir_release(run->context, at.r);
    nadir_release(run->context, at.room);
    return status;
}
