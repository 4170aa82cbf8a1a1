/*
 * oracle_search.c: the worst kernel of a set as a problem for SLSQP; see oracle.h.
 *
 *     minimise   (J_P - J) / scale              with P = Phat + change
 *     subject to the sum of the changes of a row is 0,
 *                sum over the rows of a ball of (|change| / (alpha beta))^p <= 1,
 *                bounds on single entries
 *
 * The variables are the entries of the changes divided by alpha beta. p = 1: each is the difference of two
 * that are 0 or more, which makes the ball linear; p = infinity: the balls are bounds.
 */
#include "support/support.h"

#include "support/oracle.h"

#include "support/reference.h"

#include <nlopt.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct search {
    const test_oracle *oracle;
    unsigned count;   /* variables */
    int64_t *places;  /* [count] row * states + t */
    double *units;    /* [count] alpha beta, negative for what is taken away */
    double *lower;    /* [count] */
    double *upper;    /* [count] */
    unsigned moving;  /* rows with variables */
    int64_t *moves;   /* [rows] the number of the row among them; -1: none */
    double *kernel;   /* [rows * states] */
    double *gradient; /* [rows * states] */
    double nominal_return;
    double scale; /* of the objective */
} search;

static void add_variable(search *made, int64_t place, double unit, double lower, double upper)
{
    made->places[made->count] = place;
    made->units[made->count] = unit;
    made->lower[made->count] = lower;
    made->upper[made->count] = upper;
    made->count++;
}

static bool may_move(const test_oracle *oracle, int64_t row, int64_t t)
{
    return oracle->domain != NADIR_DOMAIN_SUPPORT || oracle->nominal[row * oracle->states + t] > 0;
}

/* The variables of one row, unless it cannot move or nobody would notice. */
static void add_row(search *made, int64_t row)
{
    const test_oracle *oracle = made->oracle;
    const int64_t n = oracle->states;
    const int64_t ball = oracle->row_balls[row];
    int64_t entries = 0;
    for (int64_t t = 0; t < n; t++) {
        entries += may_move(oracle, row, t);
    }
    made->moves[row] = -1;
    const bool used = oracle->policy[row] > 0 || (oracle->less != NULL && oracle->less->policy[row] > 0);
    if (ball < 0 || !used || entries < 2) {
        return;
    }
    made->moves[row] = made->moving++;
    const double unit = oracle->scales[row] * oracle->radii[ball];
    for (int64_t place = row * n; place < row * n + n; place++) {
        const double most = oracle->domain == NADIR_DOMAIN_FREE ? 1 : fmin(1, oracle->nominal[place] / unit);
        if (!may_move(oracle, row, place - row * n)) {
            continue;
        }
        if (oracle->p == 1) {
            add_variable(made, place, unit, 0, 1);
            add_variable(made, place, -unit, 0, most);
        } else {
            add_variable(made, place, unit, -most, 1);
        }
    }
}

static search start(const test_oracle *oracle)
{
    const int64_t entries = oracle->rows * oracle->states;
    search made = {.oracle = oracle};
    made.places = test_new(2 * entries, sizeof *made.places);
    made.units = test_new(2 * entries, sizeof *made.units);
    made.lower = test_new(2 * entries, sizeof *made.lower);
    made.upper = test_new(2 * entries, sizeof *made.upper);
    made.moves = test_new(oracle->rows, sizeof *made.moves);
    made.kernel = test_new(entries, sizeof *made.kernel);
    made.gradient = test_new(entries, sizeof *made.gradient);
    for (int64_t row = 0; row < oracle->rows; row++) {
        add_row(&made, row);
    }
    made.nominal_return = test_oracle_gradient(oracle, oracle->nominal, made.gradient);
    for (unsigned i = 0; i < made.count; i++) {
        const double slope = made.gradient[made.places[i]] * made.units[i];
        made.scale += slope * slope;
    }
    made.scale = made.scale > 0 ? sqrt(made.scale) : 1;
    return made;
}

static void finish(search *made)
{
    void *const arrays[] = {made->places, made->units,  made->lower,   made->upper,
                            made->moves,  made->kernel, made->gradient};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
}

static void set_kernel(search *made, const double *x)
{
    const test_oracle *oracle = made->oracle;
    memcpy(made->kernel, oracle->nominal, (size_t)(oracle->rows * oracle->states) * sizeof *made->kernel);
    for (unsigned i = 0; i < made->count; i++) {
        made->kernel[made->places[i]] += made->units[i] * x[i];
    }
}

static double objective(unsigned count, const double *x, double *gradient, void *user)
{
    search *made = user;
    set_kernel(made, x);
    const double found = test_oracle_gradient(made->oracle, made->kernel, made->gradient);
    for (unsigned i = 0; gradient != NULL && i < count; i++) {
        gradient[i] = isnan(found) ? 0 : made->gradient[made->places[i]] * made->units[i] / made->scale;
    }
    return isnan(found) ? 1e6 : (found - made->nominal_return) / made->scale;
}

/* The sum of the changes of each row that moves, in units of alpha beta. gradient: [rows * count] */
static void row_sums(unsigned rows, double *sums, unsigned count, const double *x, double *gradient,
                     void *user)
{
    const search *made = user;
    memset(sums, 0, rows * sizeof *sums);
    if (gradient != NULL) {
        memset(gradient, 0, (size_t)rows * count * sizeof *gradient);
    }
    for (unsigned i = 0; i < count; i++) {
        const int64_t row = made->moves[made->places[i] / made->oracle->states];
        const double direction = made->units[i] > 0 ? 1 : -1;
        sums[row] += direction * x[i];
        if (gradient != NULL) {
            gradient[(size_t)row * count + i] = direction;
        }
    }
}

/* excess[ball] = (norm / radius)^p - 1. gradient: [balls * count] */
static void ball_excess(unsigned balls, double *excess, unsigned count, const double *x, double *gradient,
                        void *user)
{
    const search *made = user;
    const double p = made->oracle->p;
    for (unsigned ball = 0; ball < balls; ball++) {
        excess[ball] = -1;
    }
    if (gradient != NULL) {
        memset(gradient, 0, (size_t)balls * count * sizeof *gradient);
    }
    for (unsigned i = 0; i < count; i++) {
        const int64_t ball = made->oracle->row_balls[made->places[i] / made->oracle->states];
        excess[ball] += p == 1 ? x[i] : pow(fabs(x[i]), p);
        if (gradient != NULL) {
            gradient[(size_t)ball * count + i] = p == 1 ? 1 : copysign(p * pow(fabs(x[i]), p - 1), x[i]);
        }
    }
}

/* The variables of a kernel of the set. */
static void set_variables(const search *made, const double *kernel, double *x)
{
    for (unsigned i = 0; i < made->count; i++) {
        const int64_t place = made->places[i];
        const double wanted = (kernel[place] - made->oracle->nominal[place]) / made->units[i];
        x[i] = fmin(fmax(wanted, made->lower[i]), made->upper[i]);
    }
}

static nlopt_opt make_optimiser(search *made)
{
    const test_oracle *oracle = made->oracle;
    nlopt_opt optimiser = nlopt_create(NLOPT_LD_SLSQP, made->count);
    assert_non_null(optimiser);
    double *tolerances = test_new(oracle->rows, sizeof *tolerances);
    for (int64_t i = 0; i < oracle->rows; i++) {
        tolerances[i] = 1e-12;
    }
    assert_true(nlopt_set_min_objective(optimiser, objective, made) > 0);
    assert_true(nlopt_set_lower_bounds(optimiser, made->lower) > 0);
    assert_true(nlopt_set_upper_bounds(optimiser, made->upper) > 0);
    assert_true(nlopt_add_equality_mconstraint(optimiser, made->moving, row_sums, made, tolerances) > 0);
    if (!isinf(oracle->p)) {
        assert_true(nlopt_add_inequality_mconstraint(optimiser, (unsigned)oracle->balls, ball_excess, made,
                                                     tolerances) > 0);
    }
    assert_true(nlopt_set_xtol_rel(optimiser, 1e-11) > 0);
    assert_true(nlopt_set_ftol_rel(optimiser, 1e-14) > 0);
    assert_true(nlopt_set_maxeval(optimiser, 300) > 0);
    free(tolerances);
    return optimiser;
}

double test_oracle_worst(const test_oracle *oracle, nadir_random *random, int starts, double *kernel)
{
    const size_t bytes = (size_t)(oracle->rows * oracle->states) * sizeof *kernel;
    search made = start(oracle);
    double lowest = made.nominal_return;
    memcpy(kernel, oracle->nominal, bytes);
    if (made.count > 0) {
        nlopt_opt optimiser = make_optimiser(&made);
        double *x = test_new(made.count, sizeof *x);
        for (int i = 0; i < starts; i++) {
            double reached = 0;
            test_oracle_random(oracle, random, made.kernel);
            set_variables(&made, made.kernel, x);
            /* Whatever it says of its success, x is a kernel once it was pulled into the set. */
            (void)nlopt_optimize(optimiser, x, &reached);
            set_kernel(&made, x);
            test_oracle_pull(oracle, made.kernel);
            const double found = test_oracle_return(oracle, made.kernel, NULL);
            if (found < lowest) {
                lowest = found;
                memcpy(kernel, made.kernel, bytes);
            }
        }
        free(x);
        nlopt_destroy(optimiser);
    }
    finish(&made);
    return lowest;
}
