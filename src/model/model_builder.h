/*
 * model_builder.h: a model from transitions in any order.
 *
 * For readers of text formats and for generators. Transitions are collected with the line they stand on, then
 * sorted into rows. A state that got no row is terminal: it gets one pinned row that stays, with reward 0.
 */
#ifndef NADIR_MODEL_MODEL_BUILDER_H
#define NADIR_MODEL_MODEL_BUILDER_H

#include "model/model.h"

/* One transition: 40 bytes. */
typedef struct nadir_transition {
    int32_t state;
    int32_t action;
    int32_t successor;
    uint32_t line;      /* 0: none */
    double probability; /* of an interval: its lower end */
    double upper;
    double reward;
} nadir_transition;

typedef struct nadir_builder {
    nadir_context *context;
    const char *path; /* for messages */
    nadir_model *model;
    nadir_transition *transitions;
    size_t count;
    size_t capacity;
    int64_t states;  /* one more than the largest state seen, or as set by the caller if larger */
    bool no_rewards; /* the source has none: the model gets no rewards */
    bool boxed;      /* some transition has an interval: the model gets a box */
    bool sorted;     /* so far by state, action and successor */
} nadir_builder;

/* The most states that a file with this many transitions may have: numbers that no transition mentions cost
 * memory all the same, so a file may not skip many of them. */
static inline int64_t nadir_builder_states_limit(int64_t transitions)
{
    return 2 * transitions + 1024;
}

/* path is kept, not copied. The caller may set discount, norm, initial (from nadir_allocate), names, ... in
 * builder->model before the end. */
nadir_status nadir_builder_start(nadir_context *context, const char *path, nadir_builder *builder);

/* Numbers must be in [0, NADIR_STATES_LIMIT) for states and [0, INT32_MAX] for actions; the line is for
 * messages. Probabilities and rewards are checked at the end. */
nadir_status nadir_builder_add(nadir_builder *builder, int64_t state, int64_t action, int64_t successor,
                               double probability, double reward, int64_t line);

/* The same with an interval for the probability. */
nadir_status nadir_builder_add_interval(nadir_builder *builder, int64_t state, int64_t action,
                                        int64_t successor, double lower, double upper, double reward,
                                        int64_t line);

/* For files that give rewards apart from probabilities, once all transitions are there: */

/* Sorts the transitions by state, action and successor. NADIR_ERROR_FORMAT when there are more states than
 * nadir_builder_states_limit allows. */
nadir_status nadir_builder_sort(nadir_builder *builder);
/* The first of the (possibly several) transitions, or -1. Needs nadir_builder_sort before. O(log count). */
int64_t nadir_builder_find(const nadir_builder *builder, int64_t state, int64_t action, int64_t successor);
/* Adds `reward` to a transition as often as it was given; first: what nadir_builder_find found. */
void nadir_builder_add_reward(nadir_builder *builder, int64_t first, double reward);
/* Adds rewards[s], [count], to every transition from s < count. */
void nadir_builder_add_state_rewards(nadir_builder *builder, int64_t count, const double *rewards);

/* Makes the model; reading: see nadir_source. The builder is empty afterwards, whether it succeeded or not. */
nadir_status nadir_builder_finish(nadir_builder *builder, const nadir_read_settings *reading,
                                  nadir_model **model);

/* Frees what an abandoned builder holds; harmless after nadir_builder_finish. */
void nadir_builder_clear(nadir_builder *builder);

#endif
