/*
 * data_npy.h: data as NumPy arrays: records whose fields have the names of the columns, or plain arrays of
 * shape (N, 3) or (N, 4) with state, action, next state and reward.
 */
#ifndef NADIR_DATA_DATA_NPY_H
#define NADIR_DATA_DATA_NPY_H

#include "data/collect.h"
#include "io/npy.h"

/* Gives all records of collector->path to the collector, whose kind and columns it sets. */
nadir_status nadir_data_read_npy(nadir_data_collector *collector);

#endif
