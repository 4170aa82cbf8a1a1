/*
 * Certificates, tampered with: tiny models of every shape, each set, domain and norm, are evaluated, and then
 * a number of the model, of the policy or of the ball is changed by 1e-9 to 1e-3 of itself, two are swapped,
 * a bit of a file is turned, or kernel and witness are written anew, digests and all, with other entries or
 * other claims. Verification notices every time; a kernel that was forged together with its witness may pass
 * only if all that the witness says is true of it.
 *
 * NADIR_ATTACKS=10 does it to ten times as many problems: 900, one of each of the 45 kinds of ball after
 * another.
 */
#include "support/numpy.h"

#include "core/file.h"
#include "io/npz.h"
#include "io/result_files.h"
#include "model/policy.h"
#include "support/kernel_descent.h"
#include "support/miniature.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/tiny.h"
#include "support/valid.h"
#include "support/verified.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED test_attack_seed(66260)

static const double norms[] = {1, 1.5, 2, 3, INFINITY};
enum { NORMS = sizeof norms / sizeof *norms, KINDS = 9 * NORMS };

typedef enum corruption {
    PROBABILITY,
    PROBABILITIES_SWAPPED,
    REWARD,
    DISCOUNT,
    INITIAL,
    POLICY,
    POLICY_SWAPPED,
    KERNEL_BIT,
    WITNESS_BIT,
    KERNEL_ENTRY,
    KERNEL_SWAPPED,
    RADIUS,
    NORM,
    DOMAIN,
    KERNEL_DISCOUNT,
    FORGED_ENTRY,
    FORGED_RADIUS,
    FORGED_BOUND,
    CORRUPTIONS
} corruption;

static const char *const corruption_names[CORRUPTIONS] = {
    "a probability of the model",
    "two probabilities of the model",
    "a reward",
    "the discount",
    "the initial distribution",
    "a probability of the policy",
    "two of the policy",
    "a bit of the kernel",
    "a bit of the witness",
    "an entry of the kernel",
    "two entries of the kernel",
    "the radius of the kernel",
    "the norm of the kernel",
    "the domain of the kernel",
    "the discount of the kernel",
    "an entry, forged",
    "the radius, forged",
    "the bound, forged",
};

typedef struct tally {
    int problems, certified;
    int tried[CORRUPTIONS], harmless[CORRUPTIONS];
} tally;

/* An evaluation whose files lie there: worst.npz and worst.json. */
typedef struct target {
    test_instance instance;
    nadir_random *random;
    nadir_ball ball;
    double radius;
    double other_radius; /* of what is forged */
    nadir_robust result;
    double *entries; /* [rows * states] the kernel */
} target;

/* 1e-9 to 1e-3, of either sign. */
static double draw_share(nadir_random *random)
{
    const double share = pow(10, -9 + 6 * nadir_random_uniform(random));
    return nadir_random_below(random, 2) == 0 ? share : -share;
}

static nadir_status verify(const target *at, const nadir_model *model, const nadir_policy *policy,
                           const char *kernel, const char *witness)
{
    nadir_verify_settings settings;
    nadir_verify_settings_default(&settings);
    settings.kernel = kernel;
    settings.witness = witness;
    nadir_verify_result result = {.size = sizeof result};
    nadir_verification *made = NULL;
    const nadir_status status =
        nadir_verify(at->instance.context, (nadir_model *)model, policy, &settings, &result, &made);
    assert_true((status == NADIR_OK) == (made != NULL && result.verified));
    nadir_verification_free(made);
    return status;
}

/* ------------------------------------------------------------------------------------ model and policy */

/* Moves a share of one of two numbers to the other, or swaps them; false: they stay what they are. */
static bool disturb_pair(double *a, double *b, bool swap, double share)
{
    const double before = *a;
    const double moved = swap ? *b - *a : share * *a;
    *a += moved;
    *b -= moved;
    return *a != before && *a >= 0 && *b >= 0;
}

/* The same model but for one number; NULL: there is none that can change. */
static nadir_model *disturb_model(const target *at, corruption what)
{
    nadir_context *context = at->instance.context;
    nadir_random *random = at->random;
    nadir_model_data view = test_model_data();
    nadir_model_view(at->instance.model, &view);
    const int64_t count = view.dense != NULL ? view.rows * view.states : view.row_starts[view.rows];
    double *numbers = test_new(count, sizeof *numbers);
    const bool lands = view.transition_rewards != NULL;
    const int64_t paid = lands ? count : view.rows;
    double *rewards = test_new(paid, sizeof *rewards);
    double *initial = test_new(view.states, sizeof *initial);
    memcpy(numbers, view.dense != NULL ? view.dense : view.probabilities, (size_t)count * sizeof *numbers);
    memcpy(rewards, lands ? view.transition_rewards : view.rewards, (size_t)paid * sizeof *rewards);
    memcpy(initial, view.initial, (size_t)view.states * sizeof *initial);
    const double share = draw_share(random);
    const int64_t row = (int64_t)nadir_random_below(random, (uint64_t)view.rows);
    const int64_t first = view.dense != NULL ? row * view.states : view.row_starts[row];
    const int64_t end = view.dense != NULL ? first + view.states : view.row_starts[row + 1];
    double *one = numbers + first + nadir_random_below(random, (uint64_t)(end - first));
    double *other = numbers + first + nadir_random_below(random, (uint64_t)(end - first));
    bool changed = true;
    if (what == REWARD) {
        double *reward = rewards + (lands ? one - numbers : row);
        *reward += share * (*reward != 0 ? *reward : 1); /* NaN: it is none */
        changed = !isnan(*reward);
    } else if (what == DISCOUNT) {
        view.discount += fabs(share) * (0.999 - view.discount);
    } else if (what == INITIAL) {
        changed = disturb_pair(&initial[nadir_random_below(random, (uint64_t)view.states)],
                               &initial[nadir_random_below(random, (uint64_t)view.states)], false, share);
    } else {
        changed = one != other && disturb_pair(one, other, what == PROBABILITIES_SWAPPED, share);
    }
    nadir_model *made = NULL;
    *(view.dense != NULL ? &view.dense : &view.probabilities) = numbers;
    *(lands ? &view.transition_rewards : &view.rewards) = rewards;
    view.initial = initial;
    changed = changed && nadir_model_create(context, &view, &made) == NADIR_OK;
    free(numbers);
    free(rewards);
    free(initial);
    return changed ? made : NULL;
}

static nadir_policy *disturb_policy(const target *at, bool swap)
{
    const nadir_model *model = at->instance.model;
    nadir_policy *made = NULL;
    double *pi = test_new(model->rows, sizeof *pi);
    memcpy(pi, at->instance.policy->probabilities, (size_t)model->rows * sizeof *pi);
    const int64_t s = (int64_t)nadir_random_below(at->random, (uint64_t)model->states);
    const int64_t first = model->state_rows[s];
    const uint64_t actions = (uint64_t)(model->state_rows[s + 1] - first);
    double *one = pi + first + nadir_random_below(at->random, actions);
    double *other = pi + first + nadir_random_below(at->random, actions);
    if (one != other && disturb_pair(one, other, swap, draw_share(at->random))) {
        assert_ok(at->instance.context, nadir_policy_create(at->instance.context, model, pi, &made));
    }
    free(pi);
    return made;
}

/* --------------------------------------------------------------------------------------------- files */

static void turn_bit(const target *at, const char *from, const char *to)
{
    size_t count;
    unsigned char *bytes = test_read_bytes(from, &count);
    bytes[nadir_random_below(at->random, count)] ^=
        (unsigned char)(1U << (unsigned)nadir_random_below(at->random, 8));
    test_write_bytes(to, bytes, count);
    free(bytes);
}

/* other.npz: the kernel with other entries, or with another ball, with its digest as any. false: nothing changed. */
static bool rewrite_kernel(target *at, corruption what)
{
    nadir_context *context = at->instance.context;
    nadir_model *model = at->instance.model;
    nadir_kernel_parameters parameters;
    nadir_kernel *kernel = NULL;
    assert_ok(context, nadir_kernel_file_read(context, model, "worst.npz", &kernel, &parameters));
    const double share = draw_share(at->random);
    bool changed = true;
    if (what == KERNEL_ENTRY || what == KERNEL_SWAPPED || what == FORGED_ENTRY) {
        const int64_t row = (int64_t)nadir_random_below(at->random, (uint64_t)model->rows);
        double *entries = at->entries + row * model->states;
        const int64_t one = (int64_t)nadir_random_below(at->random, (uint64_t)model->states);
        const int64_t other = (int64_t)nadir_random_below(at->random, (uint64_t)model->states);
        const double kept[] = {entries[one], entries[other]};
        disturb_pair(&entries[one], &entries[other], what == KERNEL_SWAPPED, share);
        changed = one != other && entries[one] != kept[0];
        nadir_kernel_free(kernel);
        kernel = test_entries_kernel(context, model, at->entries);
        entries[one] = kept[0];
        entries[other] = kept[1];
    } else if (what == RADIUS || what == FORGED_RADIUS) {
        at->other_radius = at->radius * (1 + share);
        parameters.radius = &at->other_radius;
        parameters.radius_count = 1;
    } else if (what == NORM) {
        parameters.norm = isinf(parameters.norm) ? 1e6 : parameters.norm * (1 + fabs(share));
    } else if (what == DOMAIN) {
        parameters.domain =
            (nadir_domain)(1 + ((int)parameters.domain + (int)nadir_random_below(at->random, 2)) % 3);
    } else {
        parameters.gamma += fabs(share) * (0.999 - parameters.gamma);
    }
    assert_ok(context, nadir_kernel_file_write(context, kernel, &parameters, "other.npz"));
    nadir_kernel_parameters_clear(context, &parameters);
    nadir_kernel_free(kernel);
    return changed;
}

/* other.json: a witness of other.npz, with another radius or bound if so wanted, with its digest as any. Returns the
 * bound that it claims. */
static double forge_witness(const target *at, corruption what)
{
    nadir_context *context = at->instance.context;
    nadir_witness witness;
    nadir_stored_digest stored;
    assert_ok(context, nadir_witness_read(context, at->instance.model, "worst.json", &witness));
    const char *kernel = what == FORGED_BOUND ? "worst.npz" : "other.npz";
    assert_ok(context, nadir_file_digest_check(context, kernel, &nadir_npz_digest_form, &stored));
    memcpy(witness.kernel_sha256, stored.file_digest, sizeof witness.kernel_sha256);
    if (what == FORGED_RADIUS) {
        witness.radius = &at->other_radius;
        witness.radius_count = 1;
    } else if (what == FORGED_BOUND) {
        witness.lower_bound += fabs(draw_share(at->random)) * at->result.penalty;
    }
    const double claimed = isnan(witness.lower_bound) ? -INFINITY : witness.lower_bound;
    assert_ok(context, nadir_witness_write(context, at->instance.model, &witness, "other.json"));
    nadir_witness_clear(context, &witness);
    return claimed;
}

/* What was forged and passed is true all the same: the kernel lies in the set and returns what was claimed,
 * to what verification promises, and no kernel that is found is below the bound. */
static void check_harmless(const target *at, corruption what, double claimed)
{
    nadir_context *context = at->instance.context;
    const char *file = what == FORGED_BOUND ? "worst.npz" : "other.npz";
    const double scale = test_robust_scale(at->instance.model, &at->result);
    nadir_kernel_parameters parameters;
    nadir_kernel *kernel = NULL;
    assert_ok(context, nadir_kernel_file_read(context, at->instance.model, file, &kernel, &parameters));
    double *entries = test_kernel_entries(context, kernel);
    nadir_ball ball = at->ball;
    ball.radius = what == FORGED_RADIUS ? &at->other_radius : &at->radius;
    test_oracle oracle = test_oracle_make(at->instance.model, at->instance.policy, &ball);
    const double excess = test_oracle_excess(&oracle, entries);
    const double found = test_oracle_return(&oracle, entries, NULL);
    assert_that(excess <= 2e-9, "a kernel outside of the set by %g was verified", excess);
    assert_that(fabs(found - at->result.robust_return) <= 2e-9 * scale,
                "a kernel that returns %.17g was verified as one of %.17g", found, at->result.robust_return);
    test_oracle_pull(&oracle, entries);
    const double lowest = test_kernel_descent(&oracle, at->random, entries);
    const double slack = 1e-9 * at->result.penalty + 1e-6 * fabs(lowest - claimed) + 1e-13 * scale;
    assert_that(isinf(claimed) || lowest >= claimed - slack,
                "%.17g is below the bound %.17g that was verified", lowest, claimed);
    test_oracle_clear(&oracle);
    free(entries);
    nadir_kernel_parameters_clear(context, &parameters);
    nadir_kernel_free(kernel);
}

/* ---------------------------------------------------------------------------------------------- attacks */

/* Changes something and verifies; false: there was nothing to change. */
static bool strike(target *at, corruption what, nadir_status *status, double *claimed)
{
    const nadir_model *model = at->instance.model;
    const nadir_policy *policy = at->instance.policy;
    nadir_model *other_model = NULL;
    nadir_policy *other_policy = NULL;
    bool changed = true;
    *claimed = at->result.lower_bound;
    if (what <= INITIAL) {
        other_model = disturb_model(at, what);
        changed = other_model != NULL;
        *status = changed ? verify(at, other_model, policy, "worst.npz", "worst.json") : NADIR_OK;
    } else if (what <= POLICY_SWAPPED) {
        other_policy = disturb_policy(at, what == POLICY_SWAPPED);
        changed = other_policy != NULL;
        *status = changed ? verify(at, model, other_policy, "worst.npz", "worst.json") : NADIR_OK;
    } else if (what <= WITNESS_BIT) {
        const bool witness = what == WITNESS_BIT;
        turn_bit(at, witness ? "worst.json" : "worst.npz", witness ? "other.json" : "other.npz");
        *status = verify(at, model, policy, witness ? "worst.npz" : "other.npz",
                         witness ? "other.json" : "worst.json");
    } else {
        changed = what == FORGED_BOUND ? at->result.penalty > 0 && isfinite(at->result.lower_bound)
                                       : rewrite_kernel(at, what);
        if (changed && what >= FORGED_ENTRY) {
            *claimed = forge_witness(at, what);
        }
        *status = !changed ? NADIR_OK
                           : verify(at, model, policy, what == FORGED_BOUND ? "worst.npz" : "other.npz",
                                    what >= FORGED_ENTRY ? "other.json" : "worst.json");
    }
    nadir_model_free(other_model);
    nadir_policy_free(other_policy);
    return changed;
}

static void tamper(target *at, tally *sums)
{
    for (corruption what = 0; what < CORRUPTIONS; what++) {
        nadir_status status;
        double claimed;
        bool changed = false;
        for (int i = 0; i < 4 && !changed; i++) { /* other numbers, where these cannot change */
            changed = strike(at, what, &status, &claimed);
        }
        if (!changed) {
            continue;
        }
        sums->tried[what]++;
        if (status == NADIR_OK && what >= FORGED_ENTRY) {
            check_harmless(at, what, claimed);
            sums->harmless[what]++;
        } else {
            assert_that(status / 10 == 8 || status / 10 == 3, "%s: %s: %s", corruption_names[what],
                        nadir_status_name(status), nadir_context_error(at->instance.context));
        }
    }
}

static void attack(nadir_context *context, nadir_random *random, int number, tally *sums)
{
    static const double shares[] = {0.001, 0.01, 0.1};
    const int kind = number % KINDS;
    test_miniature tiny = test_miniature_make(context, random, 5);
    if (number / KINDS % 2 == 1) { /* every other time round */
        test_miniature_land(context, random, number, &tiny);
    }
    target at = {
        .instance = {context, tiny.model, tiny.policy, test_solver(context, tiny.model, tiny.policy)},
        .random = random,
        .radius = shares[nadir_random_below(random, 3)]};
    at.ball = test_ball((nadir_set)(kind % 3 + 1), (nadir_domain)(kind / 3 % 3 + 1), norms[kind / 9],
                        &at.radius, NULL);
    nadir_robust probe = {.size = sizeof probe};
    while (nadir_solver_robust(context, at.instance.solver, &at.ball, NULL, &probe, NULL) != NADIR_OK) {
        at.radius /= 10; /* free domain: past breakdown */
    }
    test_note("seed %d, problem %d, %s; %s", SEED, number, tiny.name, test_ball_name(&at.ball));
    at.result = test_verified_evaluate(&at.instance, &at.ball, NULL);
    nadir_verify_result verified;
    nadir_verification *made = NULL;
    assert_ok(context, test_verified_verify(&at.instance, "worst.npz", "worst.json", &verified, &made));
    nadir_verification_free(made);
    nadir_kernel_parameters parameters;
    nadir_kernel *kernel = NULL;
    assert_ok(context, nadir_kernel_file_read(context, tiny.model, "worst.npz", &kernel, &parameters));
    at.entries = test_kernel_entries(context, kernel);
    nadir_kernel_parameters_clear(context, &parameters);
    nadir_kernel_free(kernel);
    tamper(&at, sums);
    sums->problems++;
    sums->certified += at.result.certified;
    free(at.entries);
    nadir_solver_free(at.instance.solver);
    test_miniature_clear(&tiny);
}

static void corruption_is_noticed(void **state)
{
    nadir_context *context = *state;
    nadir_random random;
    tally sums = {0};
    int tried = 0;
    int harmless = 0;
    const int problems = test_attack_count(2 * KINDS);
    for (int i = 0; i < problems; i++) {
        nadir_random_seed(&random, (uint64_t)SEED + (uint64_t)i); /* so that each can be had by itself */
        attack(context, &random, i, &sums);
    }
    test_note_clear();
    for (int what = 0; what < CORRUPTIONS; what++) {
        print_message("%s: %d times%s", corruption_names[what], sums.tried[what],
                      sums.harmless[what] > 0 ? "" : "\n");
        if (sums.harmless[what] > 0) {
            print_message(", %d of them to something that is as true\n", sums.harmless[what]);
        }
        assert_true(sums.tried[what] > 0 || problems < KINDS);
        tried += sums.tried[what];
        harmless += sums.harmless[what];
    }
    print_message("%d problems, %d certified; %d corruptions, %d noticed, %d of forged files harmless\n",
                  sums.problems, sums.certified, tried, tried - harmless, harmless);
}

/* Bounds of valid kernels by the larger, free set: proven again, and not when they claim more. */
static void bounds_of_the_larger_set(void **state)
{
    static const double radius = 0.2;
    static const double bound_norms[] = {1, 2};
    nadir_context *context = *state;
    for (int i = 0; i < 2; i++) {
        nadir_generate_settings making = test_generate_settings();
        making.states = 6;
        making.actions = 2;
        making.seed = 3;
        test_instance instance = {.context = context};
        nadir_robust_settings settings = test_robust_settings();
        settings.certify = NADIR_CERTIFY_OFF;
        assert_ok(context, nadir_model_generate(context, "random", &making, &instance.model));
        assert_ok(context, nadir_policy_create_uniform(context, instance.model, &instance.policy));
        instance.solver = test_solver(context, instance.model, instance.policy);
        const nadir_ball ball =
            test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, bound_norms[i], &radius, NULL);
        const nadir_robust result = test_verified_evaluate(&instance, &ball, &settings);
        assert_string_equal(result.bound, "free-domain");
        nadir_verify_result verified;
        nadir_verification *made = NULL;
        assert_ok(context, test_verified_verify(&instance, "worst.npz", "worst.json", &verified, &made));
        nadir_verification_free(made);
        nadir_witness witness;
        assert_ok(context, nadir_witness_read(context, instance.model, "worst.json", &witness));
        witness.lower_bound += 1e-4 * result.penalty;
        assert_ok(context, nadir_witness_write(context, instance.model, &witness, "other.json"));
        nadir_witness_clear(context, &witness);
        assert_check_fails(&instance, "worst.npz", "other.json", "lower_bound");
        nadir_solver_free(instance.solver);
        nadir_policy_free(instance.policy);
        nadir_model_free(instance.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(corruption_is_noticed),
                                       test_with_context(bounds_of_the_larger_set)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
