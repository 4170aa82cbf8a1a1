/*
 * terminal.h: models without a discount, in which the process ends.
 *
 * Terminal states pay their value once and end. Inside they are states like others with empty rows, pinned, whose
 * reward is that value: I - P^pi has rows of the identity there, and everything that is made of P^pi, R^pi and D
 * holds with gamma = 1 as long as every kernel ends (docs/theory.md, "Without a discount").
 *
 * Total reward: the states that stay where they are, whatever the action, and pay nothing; or those asked for.
 * Reachability: goal states, of value 1, and states of value 0: those to be avoided, and all from which no action
 * leads towards the goal.
 */
#ifndef NADIR_MODEL_TERMINAL_H
#define NADIR_MODEL_TERMINAL_H

#include "model/model.h"
#include "model/policy.h"

/* What a state was asked to be: bits of `marks` of nadir_model. */
enum { NADIR_MARK_GOAL = 1, NADIR_MARK_AVOID = 2, NADIR_MARK_UNTIL = 4 };

/* What is asked of a model without a discount: the bits of its settings that are not NULL. */
unsigned nadir_terminal_asked(const nadir_read_settings *settings);

/* The bits of settings that name this label. */
unsigned nadir_terminal_label(const nadir_read_settings *settings, const char *label, size_t length);

/* Turns a finished model of discount 1 into one that ends, by its marks, if any (asked: bits), and releases these.
 * Nothing is done for other models. Before nadir_landing_make. */
nadir_status nadir_terminal_make(nadir_context *context, nadir_model *model, unsigned asked,
                                 const char *path);

static inline bool nadir_model_ends(const nadir_model *model, int64_t state)
{
    return model->terminal != NULL && model->terminal[state];
}

/* The first few of the states with which[s] == listed, as text; returns how many there are. which: [states] */
int64_t nadir_terminal_list(const nadir_model *model, const bool *which, bool listed, char *text,
                            size_t size);

/* NADIR_ERROR_UNSUPPORTED for a model that ends: `what` is not there without a discount yet. */
nadir_status nadir_terminal_refuse(nadir_context *context, const nadir_model *model, const char *what);

/* NADIR_ERROR_ILL_POSED, with the states, where the policy never ends from some state. Models with a discount
 * pass. */
nadir_status nadir_terminal_check_policy(nadir_context *context, const nadir_model *model,
                                         const double *probabilities);

/* The same rows with a discount below 1, where terminal states, with a value of 0 or more, stay and pay in each step what
 * makes up that value or a little less: with rewards of 0 or more, no kernel returns more there than without a discount.
 * Rewards of rows alone. */
nadir_status nadir_terminal_discounted(nadir_context *context, const nadir_model *model, double discount,
                                       nadir_model **made);

#endif
