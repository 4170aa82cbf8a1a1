/*
 * Worst cases of small models at radii where second order around the kernel found does not prove them: boxes of
 * occupancies do, with --certify strict, for FrozenLake also with auto; frozen rewards and rewards on landing. Every
 * witness is verified.
 */
#include "support/support.h"

#include "support/generated.h"
#include "support/robust.h"
#include "support/valid.h"
#include "support/verified.h"

#include <math.h>
#include <string.h>

enum { SIDE = 4, CELLS = SIDE * SIDE, MOVES = 4 };
static const char lake[] = "SFFFFHFHFFFHHFFG";

/* The cell that a move leads to: left, down, right, up. */
static int cell_after(int cell, int move)
{
    const int row = cell / SIDE + (move == 1 && cell / SIDE < SIDE - 1) - (move == 3 && cell / SIDE > 0);
    const int column = cell % SIDE + (move == 2 && cell % SIDE < SIDE - 1) - (move == 0 && cell % SIDE > 0);
    return row * SIDE + column;
}

/* FrozenLake 4x4 of Gymnasium: slippery, moves go sideways with probability 2/3; holes and the goal hold for ever. */
static nadir_model *make_lake(nadir_context *context, bool slippery, double discount)
{
    static double P[CELLS * MOVES * CELLS];
    static double paid[CELLS * MOVES * CELLS];
    int64_t state_rows[CELLS + 1];
    double initial[CELLS] = {1};
    nadir_model *model = NULL;
    nadir_model_data data;
    memset(P, 0, sizeof P);
    memset(paid, 0, sizeof paid);
    for (int cell = 0; cell <= CELLS; cell++) {
        state_rows[cell] = (int64_t)MOVES * cell;
    }
    for (int row = 0; row < CELLS * MOVES; row++) {
        const int cell = row / MOVES;
        const bool ends = lake[cell] == 'H' || lake[cell] == 'G';
        for (int side = -1; side <= 1; side++) {
            const int to = ends ? cell : cell_after(cell, (row + side + MOVES) % MOVES);
            P[row * CELLS + to] += slippery ? 1.0 / 3 : side == 0 ? 1 : 0;
            paid[row * CELLS + to] = lake[to] == 'G' && !ends ? 1 : 0;
        }
    }
    nadir_model_data_default(&data);
    data.states = CELLS;
    data.rows = (int64_t)CELLS * MOVES;
    data.discount = discount;
    data.state_rows = state_rows;
    data.dense = P;
    data.transition_rewards = paid;
    data.initial = initial;
    assert_ok(context, nadir_model_create(context, &data, &model));
    return model;
}

static nadir_model *make_model(nadir_context *context, const char *kind, double discount)
{
    const nadir_generate_settings shape = test_generate_settings();
    return strcmp(kind, "lake") == 0        ? make_lake(context, true, discount)
           : strcmp(kind, "even lake") == 0 ? make_lake(context, false, discount)
                                            : test_generate(context, kind, &shape);
}

typedef struct frontier_case {
    const char *kind;
    double discount; /* of lakes */
    bool optimal;
    nadir_domain domain;
    double radius;
    bool slow; /* above a second */
} frontier_case;

static const frontier_case cases[] = {
    {"lake", 0.95, true, NADIR_DOMAIN_SIMPLEX, 0.1, false},
    {"lake", 0.99, true, NADIR_DOMAIN_SIMPLEX, 0.1, false},
    {"lake", 0.95, true, NADIR_DOMAIN_SUPPORT, 0.3, true},
    {"lake", 0.99, true, NADIR_DOMAIN_SUPPORT, 0.3, true},
    {"lake", 0.95, true, NADIR_DOMAIN_SIMPLEX, 0.6, false},
    {"lake", 0.99, true, NADIR_DOMAIN_SIMPLEX, 0.6, false},
    {"lake", 0.99, true, NADIR_DOMAIN_SUPPORT, 0.6, false},
    {"even lake", 0.95, true, NADIR_DOMAIN_SIMPLEX, 0.3, false},
    {"riverswim", 0, true, NADIR_DOMAIN_SUPPORT, 0.3, false},
    {"riverswim", 0, true, NADIR_DOMAIN_SIMPLEX, 0.3, false},
    {"riverswim", 0, false, NADIR_DOMAIN_SIMPLEX, 0.1, false},
    {"riverswim", 0, false, NADIR_DOMAIN_SIMPLEX, 0.3, false},
    {"riverswim", 0, false, NADIR_DOMAIN_SIMPLEX, 1, false},
    {"machine", 0, true, NADIR_DOMAIN_SIMPLEX, 0.4, false},
    {"machine", 0, true, NADIR_DOMAIN_SIMPLEX, 0.6, false},
    {"machine", 0, true, NADIR_DOMAIN_SIMPLEX, 1, true},
    {"machine", 0, true, NADIR_DOMAIN_SUPPORT, 0.6, false},
    {"machine", 0, true, NADIR_DOMAIN_SUPPORT, 1, false},
    {"machine", 0, true, NADIR_DOMAIN_SUPPORT, 2, false},
    {"machine", 0, false, NADIR_DOMAIN_SIMPLEX, 0.5, false},
    {"machine", 0, false, NADIR_DOMAIN_SIMPLEX, 1, true},
};

static void prove_case(const frontier_case *given, bool frozen, nadir_certify effort)
{
    test_instance instance = {.context = test_context()};
    nadir_robust_settings settings = test_robust_settings();
    nadir_verify_result result = {.size = sizeof result};
    nadir_verification *made = NULL;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, given->domain, 2, &given->radius, NULL);
    settings.certify = effort;
    settings.time_limit = 100;
    instance.model = make_model(instance.context, given->kind, given->discount);
    instance.model = frozen ? test_frozen(instance.context, instance.model) : instance.model;
    instance.policy = given->optimal ? test_optimal_policy(instance.context, instance.model)
                                     : test_uniform_policy(instance.context, instance.model);
    instance.solver = test_solver(instance.context, instance.model, instance.policy);
    test_note("%s, discount %g, %s policy, %s, %s rewards", given->kind, given->discount,
              given->optimal ? "optimal" : "uniform", test_ball_name(&ball), frozen ? "frozen" : "landing");
    const nadir_robust robust = test_verified_evaluate(&instance, &ball, &settings);
    assert_that(robust.certified, "bounds %.17g and %.17g, penalty %g, by %s", robust.lower_bound,
                robust.upper_bound, robust.penalty, robust.bound);
    assert_ok(instance.context, test_verified_verify(&instance, "worst.npz", "worst.json", &result, &made));
    assert_true(result.verified);
    nadir_verification_free(made);
    test_note_clear();
    test_instance_clear(&instance);
}

static void prove_all(bool frozen)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!cases[i].slow || !test_brief()) {
            prove_case(&cases[i], frozen, NADIR_CERTIFY_STRICT);
        }
    }
}

static void strict_proves_frozen_rewards(void **state)
{
    (void)state;
    prove_all(true);
}

static void strict_proves_rewards_on_landing(void **state)
{
    (void)state;
    prove_all(false);
}

static void auto_proves_lakes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        prove_case(&cases[i], true, NADIR_CERTIFY_AUTO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_proves_frozen_rewards),
        cmocka_unit_test(strict_proves_rewards_on_landing),
        cmocka_unit_test(auto_proves_lakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
