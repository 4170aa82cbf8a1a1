/*
 * miniature.h: models of a few states, of every shape that has fooled somebody, with a policy: for attacks by
 * brute force. Include support/support.h first.
 */
#ifndef NADIR_TESTS_MINIATURE_H
#define NADIR_TESTS_MINIATURE_H

#include "core/random.h"
#include "nadir.h"

typedef struct test_miniature {
    nadir_model *model;
    nadir_policy *policy;
    char name[96]; /* for notes: what was drawn */
} test_miniature;

/*
 * 2 to `states_most` states with 1 to 3 actions. Drawn at random: the shape (dense, sparse, hub, absorbing,
 * chain), the initial distribution (uniform, random, a point, nearly a point), the discount (0, 0.5, 0.9,
 * 0.95, 0.99), scales (none, or random ones with zeros), the policy (random, with zeros, deterministic).
 * Rewards are normal.
 */
test_miniature test_miniature_make(nadir_context *context, nadir_random *random, int64_t states_most);
void test_miniature_clear(test_miniature *tiny);

/* Its rewards become rewards of transitions, which are seldom separable: normal ones around those of rows, where
 * the probability is positive or everywhere, or of mean 0 in every row under the nominal kernel, or far from 0.
 * number: chooses among these, and what unseen successors pay. */
void test_miniature_land(nadir_context *context, nadir_random *random, int number, test_miniature *tiny);

/* The same with rewards `factor` R + `offset`. */
nadir_model *test_model_rewarded(nadir_context *context, const nadir_model *model, double factor,
                                 double offset);

/* Draws the radii of a ball: one, or sometimes, where its set has many, that many with zeros among them; the
 * largest is `largest`. radii: [rows] for the ball to point to. */
void test_draw_radii(nadir_random *random, const nadir_model *model, double largest, nadir_ball *ball,
                     double *radii);

#endif
