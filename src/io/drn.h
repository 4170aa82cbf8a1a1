/* drn.h: what the files of the DRN format share. */
#ifndef NADIR_IO_DRN_H
#define NADIR_IO_DRN_H

#include "io/format.h"
#include "io/labels.h"

/* A .drn file while it is read. */
typedef struct nadir_drn_reader {
    nadir_text text;
    nadir_builder builder;
    nadir_action_labels labels;
    nadir_initial_states initial;
    const nadir_read_settings *settings;

    /* what stands before @model */
    unsigned seen;      /* sections, one bit each */
    bool chain;         /* a Markov chain: one action in each state */
    int64_t states;     /* as declared */
    int64_t choices;    /* as declared, -1: not said */
    nadir_names models; /* reward models */
    int64_t chosen;     /* the reward model that is read, -1: none */

    /* the state and the action that lines belong to now */
    int64_t state;  /* -1: before the first */
    int64_t choice; /* of the state, -1: before the first */
    bool implicit;  /* transitions stand under the state itself */
    double state_reward;
    double action_reward;
    int64_t action_line;
    int64_t transitions; /* of the action */

    int64_t choices_found;
    int64_t unearned; /* states without actions but with a reward */
} nadir_drn_reader;

/* Reads up to and with the line @model. */
nadir_status nadir_drn_read_header(nadir_drn_reader *reader);

nadir_status nadir_drn_write(nadir_context *context, const nadir_model *model, const char *path,
                             const nadir_write_settings *settings);

#endif
