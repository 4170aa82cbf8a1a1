/*
 * checkpoint.h: where an ascent stands, as a file: for the same program on the same machine, to go on after
 * an interruption as if there had been none. Written whole or not at all; a changed byte shows.
 */
#ifndef NADIR_POLICY_CHECKPOINT_H
#define NADIR_POLICY_CHECKPOINT_H

#include "policy/ascent.h"

nadir_status nadir_checkpoint_write(nadir_context *context, const nadir_ascent *ascent, const char *path);

/* Fills state, near_v, near_d, best, secants and, with the policy at hand, `direction`. NADIR_ERROR_FORMAT:
 * no checkpoint, a damaged one, or one of another model, ball or method. */
nadir_status nadir_checkpoint_read(nadir_context *context, nadir_ascent *ascent, const char *path);

#endif
