(* Algorithm 2 of [CL20] on a grid with discrete Gaussian noise: the function of [Algorithm.v] releases rounded values with
   noise, whose sensitivity [Epoch.v] bounds; hence it is private. *)

From DPADMM Require Import Vectors Algorithm InnerProduct Prox Gradients Epoch Folded.
From DPADMM Require Import Integral HockeyStick Profiles Composition Renyi Lattice DiscreteGaussian Releases GridNoise.
From Coq Require Import Reals Lra Lia List ZArith FunctionalExtensionality.
Import ListNotations.
Open Scope R_scope.

(* The noise that the integers v stand for: multiples of the grid; for mpADMM 3p of them, for x, z and y. *)
Definition integer_noise (grid : R) (v : list Z) (i : nat) : R := IZR (nth i v 0%Z) * grid.
Definition model_noise (grid : R) (p : nat) (v : list Z) : state reals :=
  State reals (integer_noise grid v) (fun i => integer_noise grid v (p + i)) (fun i => integer_noise grid v (p + (p + i))).

(* What is seen of a release: p coordinates from position o on. *)
Definition seen (p o : nat) (grid : R) (v : list Z) (i : nat) : R :=
  if (i <? p)%nat then IZR (nth (o + i) v 0%Z) * grid else 0.

Lemma perturbed_seen p o grid u v (m : nat -> Z) : (o + p <= length v)%nat ->
  (forall i, (i < p)%nat -> m (o + i)%nat = half_even reals (u i / grid)) ->
  perturbed reals p (Some grid) u (fun i => integer_noise grid v (o + i)) = seen p o grid (moved m v).
Proof.
  intros Hv Hm. apply functional_extensionality. intro i. unfold perturbed, seen.
  destruct (i <? p)%nat eqn:E; [ | reflexivity ]. apply Nat.ltb_lt in E.
  rewrite moved_nth by lia. rewrite Hm by exact E. rewrite plus_IZR.
  change (IZR (half_even reals (u i / grid)) * grid + IZR (nth (o + i) v 0%Z) * grid
    = (IZR (half_even reals (u i / grid)) + IZR (nth (o + i) v 0%Z)) * grid). ring.
Qed.

(* Three vectors of p coordinates as one of 3p. *)
Definition stacked (p : nat) (x z y : vector) (i : nat) : R :=
  if (i <? p)%nat then x i else if (i - p <? p)%nat then z (i - p)%nat else y (i - p - p)%nat.

Lemma stacked_parts p x z y i : (i < p)%nat ->
  stacked p x z y i = x i /\ stacked p x z y (p + i) = z i /\ stacked p x z y (p + (p + i)) = y i.
Proof.
  intro H. unfold stacked. repeat split.
  - apply Nat.ltb_lt in H. now rewrite H.
  - replace (p + i <? p)%nat with false by (symmetry; apply Nat.ltb_ge; lia).
    replace (p + i - p)%nat with i by lia. apply Nat.ltb_lt in H. now rewrite H.
  - replace (p + (p + i) <? p)%nat with false by (symmetry; apply Nat.ltb_ge; lia).
    replace (p + (p + i) - p)%nat with (p + i)%nat by lia.
    replace (p + i <? p)%nat with false by (symmetry; apply Nat.ltb_ge; lia).
    now replace (p + i - p)%nat with i by lia.
Qed.

Lemma stacked_sq p x z y x' z' y' :
  sq (3 * p) (fun i => stacked p x z y i - stacked p x' z' y' i) = sq p (diff x x') + sq p (diff z z') + sq p (diff y y').
Proof.
  replace (3 * p)%nat with (p + (p + p))%nat by lia. unfold sq, dot. rewrite sum_app, sum_app.
  rewrite Rplus_assoc. f_equal; [ | f_equal ]; apply sum_ext; intros i Hi;
    destruct (stacked_parts p x z y i Hi) as (E1 & E2 & E3); destruct (stacked_parts p x' z' y' i Hi) as (F1 & F2 & F3);
    rewrite ?E1, ?E2, ?E3, ?F1, ?F2, ?F3; reflexivity.
Qed.

(* Lists that differ in one record are neighbours. *)
Lemma lists_are_neighbours {A} (before after : list A) (r r' : A) :
  neighbours (length (before ++ r :: after)) (length before) (nth_error (before ++ r :: after))
    (nth_error (before ++ r' :: after)).
Proof.
  split; [ rewrite app_length; simpl; lia | ]. intros i Hi Hn. rewrite app_length in Hi. simpl in Hi.
  destruct (Nat.lt_ge_cases i (length before)) as [ H | H ]; [ now rewrite !nth_error_app1 by exact H | ].
  rewrite !nth_error_app2 by exact H. replace (i - length before)%nat with (S (i - length before - 1)) by lia. reflexivity.
Qed.

(* How far x, z and y together move, relative to x, for the proximal map. *)
Definition joint_factor (p : nat) (prox : vector -> R -> vector) (rho J : R) : Prop :=
  forall w w', sq p (diff w w') + sq p (diff (prox w rho) (prox w' rho))
    + sq p (fun i => rho * (diff w w' i - diff (prox w rho) (prox w' rho) i)) <= J * sq p (diff w w').

Lemma convex_joint_factor p (domain : vector -> Prop) (h : vector -> R) prox rho : 0 < rho ->
  @convex (coordinates p) domain h -> (forall w, @is_prox (coordinates p) domain h rho w (prox w rho)) ->
  joint_factor p prox rho (1 + Rmax 1 (rho ^ 2)).
Proof.
  intros Hr Hc Hp w w'.
  assert (F : sq p (diff (prox w rho) (prox w' rho)) <= dot p (diff w w') (diff (prox w rho) (prox w' rho))).
  { pose proof (@prox_firm (coordinates p) domain h rho _ _ _ _ Hr Hc (Hp w) (Hp w')) as H.
    unfold squared in H. cbn [inner coordinates] in H. unfold sq.
    replace (dot p (diff (prox w rho) (prox w' rho)) (diff (prox w rho) (prox w' rho)))
      with (dot p (@minus (coordinates p) (prox w rho) (prox w' rho)) (@minus (coordinates p) (prox w rho) (prox w' rho))).
    - eapply Rle_trans; [ exact H | ]. right. apply sum_ext. intros i _. rewrite !coordinates_minus. reflexivity.
    - apply sum_ext. intros i _. rewrite !coordinates_minus. reflexivity. }
  pose proof (@firm_joint (coordinates p) _ _ rho F) as H. rewrite !coordinates_squared in H.
  rewrite (sq_ext p (@minus (coordinates p) _ _) (fun i => diff w w' i - diff (prox w rho) (prox w' rho) i)) in H
    by (intros; apply coordinates_minus).
  rewrite sq_scale. lra.
Qed.

Lemma folded_joint_factor p (P : R -> R -> R) L rho : 1 <= L -> 0 < rho ->
  (forall v v', v <= v' -> 0 <= P v' rho - P v rho <= L * (v' - v)) ->
  joint_factor p (coordinatewise reals P) rho (1 + Rmax (rho ^ 2) (L ^ 2 + rho ^ 2 * (L - 1) ^ 2)).
Proof.
  intros HL Hr H w w'. exact (folded_joint (fun v => P v rho) L rho p w w' HL H).
Qed.

Section ModelPerturbation.
Variables (A : Type) (gradient : A -> vector -> vector) (C : R) (p : nat) (before after : list A) (r r' : A).
Variables (prox : vector -> R -> vector) (rho : R) (eta : nat -> R) (grid sigma : R) (start : state reals).
Variables (T a : nat) (delta : R) (test : list (state reals) -> R).
Hypothesis rho_positive : 0 < rho.
Hypothesis eta_positive : forall k, 0 < eta k.
Hypothesis C_nonneg : 0 <= C.
Hypothesis short_gradients : forall d x, norm p (gradient d x) <= C.
Hypothesis grid_positive : 0 < grid.
Hypothesis sigma_positive : 0 < sigma.
Hypothesis order : (2 <= a)%nat.
Hypothesis delta_positive : 0 < delta.
Hypothesis is_test : forall released, 0 <= test released <= 1.

Let data (d : A) : list A := before ++ d :: after.
Let n : nat := length (data r).
Let x (D : list A) (k : nat) (old : state reals) : vector :=
  step_x reals rho (eta k) (mean_gradient reals gradient D (state_x reals old)) old.
Let z (D : list A) (k : nat) (old : state reals) : vector := prox (step_w reals rho (x D k old) old) rho.
Let y (D : list A) (k : nat) (old : state reals) : vector := step_y reals rho (x D k old) (z D k old) old.

Lemma x_moves k old : norm p (diff (x (data r) k old) (x (data r') k old)) <= 2 * C * eta k / (INR n * (1 + eta k * rho)).
Proof.
  set (g := fun (o : option A) (u : vector) => match o with Some d => gradient d u | None => fun _ => of_nat reals 0 end).
  assert (Short : forall d, norm p (g d (state_x reals old)) <= C).
  { intros [ d | ]; [ apply short_gradients | ]. unfold g. rewrite norm_zero; [ exact C_nonneg | reflexivity ]. }
  pose proof (x_sensitivity (option A) g C p n (length before) (nth_error (data r)) (nth_error (data r')) rho (eta k) old
    rho_positive (eta_positive k) C_nonneg Short (lists_are_neighbours before after r r')) as H.
  unfold x, mean_gradient. replace (length (data r')) with n; [ exact H | ].
  unfold n, data. rewrite !app_length. reflexivity.
Qed.

Section All.
Variable J : R.
Hypothesis J_nonneg : 0 <= J.
Hypothesis factor : joint_factor p prox rho J.

Let state_after (releases : list (list Z)) : state reals :=
  match releases with [] => start | v :: _ => State reals (seen p 0 grid v) (seen p p grid v) (seen p (p + p) grid v) end.
Fixpoint states_after (releases : list (list Z)) : list (state reals) :=
  match releases with [] => [] | _ :: earlier => state_after releases :: states_after earlier end.
Let value (D : list A) (releases : list (list Z)) : nat -> R :=
  let k := length releases in let old := state_after releases in stacked p (x D k old) (z D k old) (y D k old).
Let out (D : list A) := fun releases v => moved (fun i => half_even reals (value D releases i / grid)) v.

Lemma run_all D noise : Forall (fun v => length v = (3 * p)%nat) noise ->
  let step k := epoch_all reals prox rho p (Some grid) (eta k) (mean_gradient reals gradient D) in
  last_state reals step start (map (model_noise grid p) noise) = state_after (released (out D) noise) /\
  all_states reals step start (map (model_noise grid p) noise) = states_after (released (out D) noise).
Proof.
  intros H step. induction noise as [ | v noise IH ]; [ split; reflexivity | ].
  pose proof (Forall_inv H) as Hv. destruct (IH (Forall_inv_tail H)) as (IH1 & IH2). cbv beta in Hv.
  assert (E : last_state reals step start (map (model_noise grid p) (v :: noise)) = state_after (released (out D) (v :: noise))).
  { cbn [map last_state]. rewrite IH1, map_length, <- (released_length (out D) noise).
    set (past := released (out D) noise). change (released (out D) (v :: noise)) with (out D past v :: past).
    unfold step, epoch_all. fold (x D (length past) (state_after past)).
    fold (z D (length past) (state_after past)). fold (y D (length past) (state_after past)).
    cbn [state_after]. unfold model_noise. cbn [state_x state_z state_y].
    unfold out at 1 2 3. f_equal.
    - apply (perturbed_seen p 0 grid _ v); [ lia | ]. intros i Hi. unfold value. change (0 + i)%nat with i. cbv zeta.
      now destruct (stacked_parts p (x D (length past) (state_after past)) (z D (length past) (state_after past))
        (y D (length past) (state_after past)) i Hi) as (-> & _).
    - apply (perturbed_seen p p grid _ v); [ lia | ]. intros i Hi. unfold value. cbv zeta.
      now destruct (stacked_parts p (x D (length past) (state_after past)) (z D (length past) (state_after past))
        (y D (length past) (state_after past)) i Hi) as (_ & -> & _).
    - assert (Ex : (fun i => integer_noise grid v (p + (p + i))) = (fun i => integer_noise grid v (p + p + i)))
        by (apply functional_extensionality; intro i; f_equal; lia).
      rewrite Ex. apply (perturbed_seen p (p + p) grid _ v); [ lia | ]. intros i Hi. unfold value. cbv zeta.
      replace (p + p + i)%nat with (p + (p + i))%nat by lia.
      now destruct (stacked_parts p (x D (length past) (state_after past)) (z D (length past) (state_after past))
        (y D (length past) (state_after past)) i Hi) as (_ & _ & ->). }
  split; [ exact E | ]. cbn [map all_states released states_after]. cbn [map] in E. rewrite E, IH2. reflexivity.
Qed.

Lemma value_moves releases : norm (3 * p) (fun i => value (data r) releases i - value (data r') releases i)
  <= sqrt J * (2 * C * eta (length releases) / (INR n * (1 + eta (length releases) * rho))).
Proof.
  set (k := length releases). unfold value. fold k. set (old := state_after releases).
  unfold norm. rewrite stacked_sq. pose proof (x_moves k old) as Hx.
  pose proof (factor (step_w reals rho (x (data r) k old) old) (step_w reals rho (x (data r') k old) old)) as F.
  assert (Ew : diff (step_w reals rho (x (data r) k old) old) (step_w reals rho (x (data r') k old) old)
    = diff (x (data r) k old) (x (data r') k old))
    by (apply functional_extensionality; intro; unfold diff, step_w; simpl; ring).
  rewrite Ew in F. fold (z (data r) k old) in F. fold (z (data r') k old) in F.
  rewrite (sq_ext p (fun i => rho * _) (diff (y (data r) k old) (y (data r') k old))) in F.
  2: { intros i _. unfold diff, y, step_y, update_y. cbn [add sub mul reals]. ring. }
  eapply Rle_trans; [ apply sqrt_le_1_alt, F | ].
  rewrite sqrt_mult by (assumption || apply sq_nonneg). apply Rmult_le_compat_l; [ apply sqrt_pos | exact Hx ].
Qed.

Lemma all_private :
  let D k := sqrt J * (2 * C * eta k / (INR n * (1 + eta k * rho))) in
  let price := lsum (fun k => grid_price a grid sigma (3 * p) (D k)) (seq 0 T) in
  let expected d := over_steps (noise_mean (sigma / grid) (3 * p)) T []
    (fun noise => test (mpadmm_all reals prox rho p (Some grid) eta gradient (data d) start (map (model_noise grid p) noise))) in
  expected r <= exp (printed_epsilon (INR a) price delta) * expected r' + delta /\
  expected r <= exp (improved_epsilon (INR a) price delta) * expected r' + delta.
Proof.
  intros D price expected.
  pose proof (grid_releases_are_private (3 * p) T a grid sigma delta D (value (data r)) (value (data r'))
    (fun releases => test (states_after releases)) order grid_positive sigma_positive delta_positive
    value_moves (fun releases => is_test _)) as H. cbv beta zeta in H.
  assert (E : forall d, over_steps (noise_mean (sigma / grid) (3 * p)) T []
      (fun noise => test (states_after (released (out (data d)) noise))) = expected d).
  { intro d. apply (over_steps_ext _ (fun v => length v = (3 * p)%nat)); [ apply noise_mean_ext | constructor | ].
    intros noise Hn. f_equal. symmetry. now apply run_all. }
  unfold out in E. rewrite !E in H. exact H.
Qed.
End All.

Section Primal.
Fixpoint primal_after (releases : list (list Z)) : state reals :=
  match releases with
  | [] => start
  | v :: earlier =>
      let old := primal_after earlier in
      let x := seen p 0 grid v in
      let z := prox (step_w reals rho x old) rho in
      State reals x z (step_y reals rho x z old)
  end.
Fixpoint primals_after (releases : list (list Z)) : list (state reals) :=
  match releases with [] => [] | _ :: earlier => primal_after releases :: primals_after earlier end.
Let value (D : list A) (releases : list (list Z)) : nat -> R := x D (length releases) (primal_after releases).
Let out (D : list A) := fun releases v => moved (fun i => half_even reals (value D releases i / grid)) v.

Lemma run_primal D noise : Forall (fun v => length v = p) noise ->
  let step k := epoch_primal reals prox rho p (Some grid) (eta k) (mean_gradient reals gradient D) in
  last_state reals step start (map (integer_noise grid) noise) = primal_after (released (out D) noise) /\
  all_states reals step start (map (integer_noise grid) noise) = primals_after (released (out D) noise).
Proof.
  intros H step. induction noise as [ | v noise IH ]; [ split; reflexivity | ].
  pose proof (Forall_inv H) as Hv. destruct (IH (Forall_inv_tail H)) as (IH1 & IH2). cbv beta in Hv.
  assert (E : last_state reals step start (map (integer_noise grid) (v :: noise)) = primal_after (released (out D) (v :: noise))).
  { cbn [map last_state]. rewrite IH1, map_length, <- (released_length (out D) noise).
    set (past := released (out D) noise). change (released (out D) (v :: noise)) with (out D past v :: past).
    unfold step, epoch_primal. cbn [primal_after].
    assert (P : perturbed reals p (Some grid) (step_x reals rho (eta (length past))
        (mean_gradient reals gradient D (state_x reals (primal_after past))) (primal_after past)) (integer_noise grid v)
      = seen p 0 grid (out D past v)).
    { apply (perturbed_seen p 0 grid _ v); [ lia | ]. intros i Hi. reflexivity. }
    cbv zeta. rewrite P. reflexivity. }
  split; [ exact E | ]. cbn [map all_states released primals_after]. cbn [map] in E. rewrite E, IH2. reflexivity.
Qed.

Lemma primal_private :
  let D k := 2 * C * eta k / (INR n * (1 + eta k * rho)) in
  let price := lsum (fun k => grid_price a grid sigma p (D k)) (seq 0 T) in
  let expected d := over_steps (noise_mean (sigma / grid) p) T []
    (fun noise => test (mpadmm_primal reals prox rho p (Some grid) eta gradient (data d) start (map (integer_noise grid) noise))) in
  expected r <= exp (printed_epsilon (INR a) price delta) * expected r' + delta /\
  expected r <= exp (improved_epsilon (INR a) price delta) * expected r' + delta.
Proof.
  intros D price expected.
  pose proof (grid_releases_are_private p T a grid sigma delta D (value (data r)) (value (data r'))
    (fun releases => test (primals_after releases)) order grid_positive sigma_positive delta_positive
    (fun releases => x_moves (length releases) (primal_after releases)) (fun releases => is_test _)) as H. cbv beta zeta in H.
  assert (E : forall d, over_steps (noise_mean (sigma / grid) p) T []
      (fun noise => test (primals_after (released (out (data d)) noise))) = expected d).
  { intro d. apply (over_steps_ext _ (fun v => length v = p)); [ apply noise_mean_ext | constructor | ].
    intros noise Hn. f_equal. symmetry. now apply run_primal. }
  unfold out in E. rewrite !E in H. exact H.
Qed.
End Primal.
End ModelPerturbation.
