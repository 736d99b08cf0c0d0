function warped = imtransform (picture, tform, method, varargin)
  % Bicubic convolution (a = -1/2) with zeros outside, as in MATLAB. What Octave's own calls bicubic is something else.
  options = struct (varargin{:});
  [x, y] = meshgrid (1:options.Size(2), 1:options.Size(1));
  there = [x(:), y(:), ones(numel (x), 1)] * tform.tdata.Tinv;
  [height, width] = size (picture);
  room = 4;  % zeros around the picture; what is farther outside is moved there
  padded = zeros (height + 2 * room, width + 2 * room);
  padded(room+1:end-room, room+1:end-room) = picture;
  u = min (max (there(:,1) ./ there(:,3), -1), width + 2) + room;
  v = min (max (there(:,2) ./ there(:,3), -1), height + 2) + room;
  across = weights (u - floor (u));
  down = weights (v - floor (v));
  corner = floor (v) - 1 + (floor (u) - 2) * rows (padded);
  warped = zeros (numel (x), 1);
  for i = 1:4
    column = zeros (numel (x), 1);
    for j = 1:4
      column += down(:,j) .* padded(corner + (j - 1) + (i - 1) * rows (padded));
    end
    warped += across(:,i) .* column;
  end
  warped = reshape (warped, size (x));
end

function found = weights (t)
  % Of the four pixels around a place that is t beyond the second.
  found = [((2 - t) .* t - 1) .* t, (3 * t - 5) .* t .^ 2 + 2, ((4 - 3 * t) .* t + 1) .* t, (t - 1) .* t .^ 2] / 2;
end
