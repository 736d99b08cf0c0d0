function flipped = fliptform (tform)
  % Octave's image package has none; of a transform that is a matrix, it is that of the inverse.
  flipped = maketform ("projective", tform.tdata.Tinv);
end
