/* prism.h: what the files of the PRISM format share. */
#ifndef NADIR_IO_PRISM_H
#define NADIR_IO_PRISM_H

#include "io/format.h"
#include "io/text_reader.h"
#include "model/model_builder.h"

/* The next line that is neither blank nor a comment (#). */
nadir_status nadir_prism_line(nadir_text *text, nadir_cursor *line, bool *more);

/* Adds the rewards of a companion file to the transitions of a sorted builder, whose actions are still the
 * numbers of the choices. chain: the model is a Markov chain; choices: pairs (state, choice) of the model. */
nadir_status nadir_prism_read_rewards(const char *path, bool chain, int64_t choices, nadir_builder *builder);

/* Takes the initial distribution from the label `init` of a companion file. */
nadir_status nadir_prism_read_labels(const char *path, nadir_builder *builder);

nadir_status nadir_prism_write(nadir_context *context, const nadir_model *model, const char *path,
                               const nadir_write_settings *settings);

#endif
