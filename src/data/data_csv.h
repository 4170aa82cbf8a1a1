/* data_csv.h: data as comma-separated tables. */
#ifndef NADIR_DATA_DATA_CSV_H
#define NADIR_DATA_DATA_CSV_H

#include "data/collect.h"

/* Gives all rows of collector->path to the collector, whose kind and columns it sets; standard: of standard
 * input instead. */
nadir_status nadir_data_read_csv(nadir_data_collector *collector, bool standard);

#endif
