j
locationfloat32.npyp