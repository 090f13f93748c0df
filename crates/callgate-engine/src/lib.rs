//! Program engines for callgate's Code Mode
