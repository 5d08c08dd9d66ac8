"""Operations on each face. A face decodes, runs and encodes; it decides nothing."""
