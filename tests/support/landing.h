/*
 * landing.h: small models whose rewards are paid on landing, written down in full, and what follows from the
 * definitions: what unseen successors pay, and the transition model. Include support/support.h first.
 */
#ifndef NADIR_TESTS_LANDING_H
#define NADIR_TESTS_LANDING_H

#include "nadir.h"
#include "support/oracle.h"

typedef struct test_landing {
    int64_t states, rows;
    int64_t *state_rows; /* [states + 1] */
    double *kernel;      /* [rows * states] */
    double *paid;        /* [rows * states] r(s, a, s'); NaN: not given, where the probability is 0 */
    double *mu;          /* [states] */
    double *scales;      /* [rows] */
    double discount;
} test_landing;

/* Zeros, mu uniform, scales one, `actions` rows for each state; nothing is paid for yet (NaN). */
test_landing test_landing_start(int64_t states, int64_t actions, double discount);
/* The same with the number of actions of each state: [states]. */
test_landing test_landing_start_ragged(int64_t states, const int64_t *actions, double discount);
void test_landing_clear(test_landing *landing);

/* The model, dense or from lists of transitions; lists hold positive probabilities only. To be freed. */
nadir_model *test_landing_model(nadir_context *context, const test_landing *landing, bool sparse,
                                nadir_unseen unseen, double unseen_value);
/* With rewards Phat . r for each row: what `--frozen-rewards` reads. To be freed. */
nadir_model *test_landing_frozen(nadir_context *context, const test_landing *landing, bool sparse);

/*
 * What successors pay that nobody gave a reward for: R(s, a) + g(s') with R and g from
 *
 *     min over R, g of the sum over rows of scale > 0 and successors of Phat (r - R - g)^2,
 *
 * g of mean 0 on every component of the graph of these rows and their successors, by dense normal equations in
 * long double; the row's mean; the smallest reward given; a number. paid: [rows * states], all of it known. Not
 * for drafts where some rows of scale > 0 have rewards for all transitions that never happen, and others have
 * not. What pinned rows would pay does not matter.
 */
void test_landing_extend(const test_landing *landing, nadir_unseen unseen, double unseen_value, double *paid);

/* g alone, and how many components there are: [states]; component: [states] the smallest state of each. */
void test_landing_fit(const test_landing *landing, double *g, int64_t *component);

/*
 * The transition model: one more state for each transition (s, a, s') of positive probability. The row (s, a)
 * leads there and pays nothing; from there one pinned row leads to s' and pays r / sqrt(gamma); the discount is
 * sqrt(gamma), mu and the policy are as before. Values of the old states are the same,
 *
 *     v(s) = sqrt(gamma) Phat . (r / sqrt(gamma) + sqrt(gamma) v) = Phat . (r + gamma v),
 *
 * and so the ball of the domain `support` with frozen rewards is that of the model with rewards on landing. The
 * ball's set, norm, radii and scales are carried over; its domain becomes `support`.
 */
typedef struct test_transitions {
    nadir_model *model;
    nadir_policy *policy;
    nadir_ball ball;
    double *radii; /* of the ball */
} test_transitions;

test_transitions test_transitions_make(nadir_context *context, const nadir_model *model,
                                       const nadir_policy *policy, const nadir_ball *ball);
void test_transitions_clear(test_transitions *made);

/* How random rewards are drawn; all of them times a power of ten from 1e-3 to 1e4. */
typedef enum test_rewards {
    TEST_REWARDS_SEPARABLE, /* R(s, a) + g(s') */
    TEST_REWARDS_NOISY,     /* the same and a few hundredths of noise */
    TEST_REWARDS_GENERAL,   /* normal */
    TEST_REWARDS_FEW,       /* most transitions pay nothing */
    TEST_REWARDS_FLAT,      /* the mean of each row is 0: so are all nominal values */
    TEST_REWARD_KINDS
} test_rewards;
extern const char *const test_rewards_names[TEST_REWARD_KINDS];

typedef struct test_landing_random {
    test_landing draft;
    nadir_model *model; /* additive */
    nadir_policy *policy;
    double size;    /* of the rewards: the power of ten */
    char name[128]; /* for notes */
} test_landing_random;

/*
 * 2 to `states_most` states with 1 to 3 actions. Drawn at random: the shape (dense, sparse, chain, two parts that
 * never meet, single successors, absorbing and pinned states, states that nobody visits), mu, scales, the
 * discount (0.3, 0.6, 0.9, 0.95, 0.99), the policy, and whether all rewards are given, also of transitions that
 * never happen, or just those of transitions that do.
 */
test_landing_random test_landing_draw(nadir_context *context, nadir_random *random, int64_t states_most,
                                      test_rewards kind);
void test_landing_random_clear(test_landing_random *drawn);

/* The oracle of a model with a draft: pays what the draft gives and, elsewhere, R(s, a) + g(s'). sign: 1, or -1
 * for the best case. To be cleared. */
test_oracle test_landing_oracle(const test_landing *landing, const nadir_model *model,
                                const nadir_policy *policy, const nadir_ball *ball, double sign);

/* The models of the golden values of rewards on landing. */
typedef enum test_landing_golden {
    TEST_COIN,    /* 0 leads to 1, which pays 1, or to 2, by halves; both pinned; mu = e_0 */
    TEST_MACHINE, /* the generator `machine`; no test_landing */
    TEST_LAKE,    /* FrozenLake 4 x 4 of Gymnasium, slippery; 1 is paid for the goal; holes and goal pinned */
    TEST_RND,     /* 12 states, 3 actions, dense, numbers of NumPy's default_rng(12345) */
    TEST_LANDING_GOLDENS
} test_landing_golden;
extern const char *const test_landing_golden_names[TEST_LANDING_GOLDENS];

/* frozen: rewards are averaged. To be freed. */
nadir_model *test_landing_golden_model(nadir_context *context, test_landing_golden which, bool frozen);
/* Uniform, or optimal for the nominal kernel. To be freed. */
nadir_policy *test_landing_golden_policy(nadir_context *context, const nadir_model *model,
                                         test_landing_golden which, bool optimal);
/* Coin, lake and rnd written down; lake: successors that are not listed have no reward. */
test_landing test_landing_golden_draft(test_landing_golden which);

#endif
