/* Status flags with their names and sentences, made from the one list in ik.h. */
#include "ik.h"

#define IK_STATUS_ROW(name, value, sentence) {#name, sentence, value},
const ik_status_flag ik_status_flags[] = {IK_STATUS_FLAGS(IK_STATUS_ROW){NULL, NULL, 0}};
